"""Pictures of recorded episodes: view next to map, step by step, and a summary."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from bonuslab.envs.family import Album
from bonuslab.envs.habitat import HabitatEnv
from bonuslab.envs.habitat.album import HabitatAlbum
from bonuslab.envs.habitat.explorer import random_policy
from bonuslab.envs.habitat.render import PATH_COLOURS, SEEN, UNSEEN, fitted, top_down

STEPS = 20


@pytest.fixture(scope="module")
def env() -> HabitatEnv:
    return HabitatEnv(size=16, max_steps=STEPS)


@pytest.fixture(scope="module")
def album(env: HabitatEnv) -> Album:
    """Two episodes in apartments of different shapes."""
    album, policy = HabitatAlbum(), random_policy(0)
    for context in (3, 7):
        observation, _ = env.reset(options={"context": context})
        album.add(observation, env)
        for _ in range(STEPS):
            observation, *_ = env.step(int(policy(env)))
            words = album.add(observation, env)
    assert words == f"coverage {env.coverage:.0%}"
    return album


def test_pictures_have_one_size_and_differ(album: Album) -> None:
    numbers = [0, 8, STEPS, STEPS + 1, 2 * STEPS + 1]
    pictures = list(album.pictures([(number, f"step {number}") for number in numbers]))
    assert len(pictures) == len(numbers)
    assert len({picture.shape for picture in pictures}) == 1
    height = pictures[0].shape[0]
    assert all((picture[height - 30 :] != 0).any() for picture in pictures)  # the caption
    for one, other in itertools.pairwise(pictures):
        assert (one[:240] != other[:240]).mean() > 0.05
    assert np.array_equal(pictures[1], next(album.pictures([(8, "step 8")])))  # independent of what else is drawn


def test_map_shows_what_was_revealed_so_far(env: HabitatEnv, album: Album) -> None:
    rows, columns = env.map.navigable.shape
    scale = min(240 / rows, 336 / columns) / env.map.cell
    last = top_down(env.map, env.revealed, env.path, background=env.from_above(), pixels_per_metre=scale)
    picture = next(album.pictures([(2 * STEPS + 1, "")]))
    np.testing.assert_array_equal(picture[10:250, 10 + 240 + 6 : -10], fitted(last, 240, 336))


def test_summary_has_map_and_strip(album: Album) -> None:
    picture = album.summary("the end")
    strip = picture[10 + 420 + 6 : -30, 10:-10]
    assert strip.shape[:2] == (140, 6 * 140 + 5 * 6)
    assert all(strip[:, start : start + 140].std() > 5 for start in range(0, strip.shape[1], 146))
    seen = picture[10:430].reshape(-1, 3)
    for colour in (PATH_COLOURS[0], PATH_COLOURS[-1]):
        assert (seen == colour).all(-1).sum() > 10


def test_no_text_for_houses(album: Album) -> None:
    assert album.text(0, 80, colour=True) == []


def test_plain_map_is_drawn_without_top_view(bare_rooms: Any) -> None:
    env, album = HabitatEnv(bare_rooms, size=16, max_steps=2), HabitatAlbum()
    album.add(env.reset()[0], env)
    for _ in range(2):
        album.add(env.step(1)[0], env)
    picture = list(album.pictures([(0, "start"), (2, "end")]))[-1]
    colours = {tuple(colour) for colour in picture[10:250, 260:-10].reshape(-1, 3).tolist()}
    assert {SEEN, UNSEEN} <= colours

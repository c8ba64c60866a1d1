"""Contexts are distinct, reproducible, and confined to the scenes of their split."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.habitat.apartments.simulator import ApartmentScenes
from bonuslab.envs.habitat.contexts import HabitatContexts, check_context, context_id, scene_and_start

from .conftest import BareRooms

APARTMENTS = ApartmentScenes()


def scenes_of(contexts: HabitatContexts) -> list[int]:
    assert contexts.ids is not None
    return [scene_and_start(context)[0] for context in contexts.ids]


def test_context_encodes_scene_and_start() -> None:
    assert scene_and_start(context_id(873, 41)) == (873, 41)
    assert context_id(3, 0) == 3


def test_every_scene_is_used_before_any_repeats() -> None:
    whole = scenes_of(HabitatContexts(APARTMENTS, 800, seed=5))
    assert sorted(whole) == list(range(800))
    more = HabitatContexts(APARTMENTS, 830, seed=5)
    assert len(set(more.ids or ())) == 830
    assert len(set(scenes_of(more))) == 800


def test_held_out_scenes_are_disjoint_from_training() -> None:
    assert set(scenes_of(HabitatContexts(APARTMENTS, 100, held_out=True))) == set(range(800, 900))
    assert set(scenes_of(HabitatContexts(APARTMENTS, 100, split="test"))) == set(range(900, 1000))
    endless = [scene_and_start(HabitatContexts(APARTMENTS, "inf", stream=k).draw())[0] for k in range(50)]
    assert max(endless) < 800
    assert len(set(endless)) > 30


def test_smaller_set_is_a_prefix_of_a_larger_one() -> None:
    three, five = HabitatContexts(APARTMENTS, 3, seed=2).ids, HabitatContexts(APARTMENTS, "5", seed=2).ids
    assert three is not None
    assert five is not None
    assert five[:3] == three
    assert HabitatContexts(APARTMENTS, 3, seed=3).ids != three


def test_set_depends_on_seed_and_order_on_stream() -> None:
    one, other = (
        HabitatContexts(APARTMENTS, 8, seed=1, stream=(0, 1)),
        HabitatContexts(APARTMENTS, 8, seed=1, stream=(0, 2)),
    )
    assert one.ids == other.ids
    assert [one.draw() for _ in range(20)] != [other.draw() for _ in range(20)]
    one.reseed(1)
    again = HabitatContexts(APARTMENTS, 8, seed=1, stream=(0, 1))
    assert [one.draw() for _ in range(20)] == [again.draw() for _ in range(20)]


def test_restored_contexts_continue_the_same_draws() -> None:
    original, restored = HabitatContexts(APARTMENTS, "inf", seed=4), HabitatContexts(APARTMENTS, "inf", seed=4)
    for _ in range(5):
        original.draw()
    restored.set_state(original.get_state())
    assert [original.draw() for _ in range(9)] == [restored.draw() for _ in range(9)]
    with pytest.raises(InvalidInput, match="other contexts"):
        HabitatContexts(APARTMENTS, 3).set_state(original.get_state())


def test_too_many_contexts_are_rejected(bare_rooms: Any) -> None:
    assert len(HabitatContexts(bare_rooms, 12).ids or ()) == 12
    with pytest.raises(InvalidInput, match=r"contexts 13 .* train split of bare rooms has 12"):
        HabitatContexts(bare_rooms, 13)


@pytest.mark.parametrize("bad", [0, -3, "many", 1.5, True, 10**7])
def test_invalid_count_is_reported(bad: Any) -> None:
    with pytest.raises(InvalidInput, match="contexts") as caught:
        HabitatContexts(APARTMENTS, bad)
    assert repr(bad) in str(caught.value)


def test_unknown_split_is_reported() -> None:
    with pytest.raises(InvalidInput, match=r"unknown split of apartments 'valid'; did you mean val"):
        HabitatContexts(APARTMENTS, split="valid")


@pytest.mark.parametrize("bad", [-1, 1.0, "7", True, context_id(5, 10**9)])
def test_invalid_context_is_reported(bad: Any) -> None:
    with pytest.raises(InvalidInput, match="context id"):
        check_context(bad, APARTMENTS)


@pytest.mark.parametrize("count", ["inf", "6"])
def test_scenes_are_kept_for_about_scene_steps(bare_rooms: BareRooms, count: str) -> None:
    sampler = HabitatContexts(bare_rooms, count, seed=0, scene_steps=100)
    drawn = []
    for _ in range(4000):
        drawn.append(sampler.draw())
        sampler.spend(10)
    scenes = [scene_and_start(context)[0] for context in drawn]
    changes = np.flatnonzero(np.diff(scenes)) + 1
    stays = np.diff(changes)
    assert stays.min() >= 8  # 80 steps; a scene may be drawn twice in a row
    assert 10 <= np.median(stays) <= 13
    frequencies = np.array([drawn.count(context) for context in set(drawn)]) / len(drawn)
    assert len(frequencies) == (12 if count == "inf" else 6)
    np.testing.assert_allclose(frequencies, 1 / len(frequencies), rtol=0.35)


def test_a_restored_sampler_stays_in_its_scene(bare_rooms: BareRooms) -> None:
    one, other = (HabitatContexts(bare_rooms, "inf", seed=0, scene_steps=50) for _ in range(2))
    for _ in range(7):
        one.draw()
        one.spend(10)
    other.set_state(one.get_state())
    for _ in range(30):
        assert one.draw() == other.draw()
        one.spend(10)
        other.spend(10)

"""Maps, top views, strips and videos."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from bonuslab.envs.habitat.apartments.bird_view import WALL_COLOUR, bird_view
from bonuslab.envs.habitat.apartments.scene import apartment
from bonuslab.envs.habitat.env import HabitatEnv
from bonuslab.envs.habitat.explorer import random_policy
from bonuslab.envs.habitat.gallery import best_view, episode_pictures, video
from bonuslab.envs.habitat.render import (
    SEEN,
    SOLID,
    UNSEEN,
    depth_picture,
    frame,
    save_gif,
    side_by_side,
    stacked,
    top_down,
)
from bonuslab.envs.habitat.simulator import NavigableMap, Pose

NAVIGABLE = np.ones((60, 80), np.bool_)
NAVIGABLE[:, 40] = False
MAP = NavigableMap(NAVIGABLE, 0.0, 0.0)
REVEALED = NAVIGABLE & (np.arange(80) < 40)
PATH = [Pose(0.5, 0.0, 0.5, 0.0), Pose(0.5, 0.0, 2.0, 0.0), Pose(1.5, 0.0, 2.0, 1.0)]


def test_map_shows_seen_unseen_and_solid() -> None:
    picture = top_down(MAP, REVEALED, pixels_per_metre=20)
    assert picture.shape == (60, 80, 3)
    assert picture[30, 10].tolist() == list(SEEN)
    assert picture[30, 60].tolist() == list(UNSEEN)
    assert picture[30, 40].tolist() == list(SOLID)


def test_path_is_drawn_where_it_leads() -> None:
    without, drawn = top_down(MAP, REVEALED, pixels_per_metre=40), top_down(MAP, REVEALED, PATH, pixels_per_metre=40)
    changed = (without != drawn).any(-1)
    assert changed[40:80, 19:21].all()
    assert changed[79:81, 22:58].all()
    assert not changed[:, 100:].any()


def test_fog_covers_unseen_floor() -> None:
    background = np.full((60, 80, 3), (200, 80, 40), np.uint8)
    picture = top_down(MAP, REVEALED, background=background, pixels_per_metre=20)
    assert picture[30, 10].tolist() == [200, 80, 40]
    assert int(picture[30, 70].max()) < 100


def test_near_is_brighter_than_far() -> None:
    picture = depth_picture(np.array([[[0.05], [0.3], [0.9]]], np.float16)).astype(int).sum(-1)[0]
    assert picture[0] > picture[1] > picture[2]


def test_rows_and_columns_of_pictures() -> None:
    a, b = np.full((10, 20, 3), 1, np.uint8), np.full((20, 20, 3), 2, np.uint8)
    row = side_by_side([a, b], 20)
    assert row.shape[0] == 20
    assert row.shape[1] == 40 + 20 + 6
    assert stacked([row, a]).shape == (20 + 6 + 10, row.shape[1], 3)


def test_videos(tmp_path: Path) -> None:
    rgb, depth = np.zeros((32, 32, 3), np.uint8), np.full((32, 32, 1), 0.2, np.float16)
    views = [rgb, depth_picture(depth)]
    frames = [frame(views, MAP, REVEALED, PATH[:end], 0.5, height=64) for end in (1, 2, 3)]
    save_gif(frames, tmp_path / "walk.gif", frames_per_second=5)
    with Image.open(tmp_path / "walk.gif") as video:
        assert video.n_frames == 3  # type: ignore[attr-defined]
        assert video.info["duration"] == 200


def test_bird_view_has_the_extent_of_the_map() -> None:
    scene = apartment(3)
    picture = bird_view(scene, pixels_per_metre=20)
    assert picture.shape[:2] == scene.map.navigable.shape  # cells of 0.05 metres, 20 pixels per metre
    assert len(np.unique(picture[scene.map.navigable], axis=0)) > 30
    wall = next(wall for wall in scene.plan.walls if not wall.openings and not wall.is_outer)
    place = round((wall.low + wall.high) * 10), round(wall.at * 20)
    assert picture[place[::-1] if wall.axis == 0 else place].tolist() == list(WALL_COLOUR)


def test_episodes_become_strips_maps_and_videos() -> None:
    env = HabitatEnv(size=16, max_steps=12)
    strip, seen = episode_pictures(env, random_policy(0), context=7, num_views=3)
    assert strip.shape == (160, 3 * 160 + 2 * 6, 3)
    assert seen.shape[:2] == tuple(round(2 * side) for side in apartment(7).map.navigable.shape)  # 40 pixels per metre
    assert len(video(env, random_policy(0), context=7, every=4)) == 3


def test_best_view_is_wider_than_a_random_one() -> None:
    best, one = best_view(7, tries=12)[1], best_view(7, tries=1)[1]
    assert best.shape == (256, 256)
    assert best.mean() >= one.mean() - 1.0

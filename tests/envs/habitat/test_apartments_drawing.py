"""Rendering: depth matches a brute-force ray tracer; images are textured and deterministic."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bonuslab.envs.habitat.apartments.drawing import draw
from bonuslab.envs.habitat.apartments.geometry import BOTTOM, COS, FLAGS, HALF_X, HALF_Z, SIN, TOP, X, Z
from bonuslab.envs.habitat.apartments.scene import Apartment, apartment
from bonuslab.envs.habitat.apartments.simulator import ApartmentScenes
from bonuslab.envs.habitat.apartments.solids import CYLINDER
from bonuslab.envs.habitat.apartments.walls import OUTER_WALL
from bonuslab.envs.habitat.simulator import CAMERA_HEIGHT, Pose

SIZE = 20


def picture(scene: Apartment, pose: Pose, size: int = SIZE) -> tuple[np.ndarray, np.ndarray]:
    rgb, depth = np.zeros((size, size, 3), np.uint8), np.zeros((size, size), np.float32)
    draw(scene.geometry, pose.x, pose.z, pose.heading, rgb, depth)
    return rgb, depth


def traced_depth(scene: Apartment, pose: Pose) -> np.ndarray:
    """[SIZE, SIZE]: depth of the nearest hit of each pixel's ray with floor, ceiling or any solid."""
    depth = np.empty((SIZE, SIZE))
    ahead = np.array([-math.sin(pose.heading), 0.0, -math.cos(pose.heading)])
    right, up = np.array([-ahead[2], 0.0, ahead[0]]), np.array([0.0, 1.0, 0.0])
    eye = np.array([pose.x, CAMERA_HEIGHT, pose.z])
    for row in range(SIZE):
        for column in range(SIZE):
            # 90 degrees field of view: at depth 1 the image extends from -1 to 1.
            across, above = (2 * column + 1) / SIZE - 1, 1 - (2 * row + 1) / SIZE
            ray = ahead + across * right + above * up  # unit length along `ahead`, so distances are depths
            plane = -eye[1] / ray[1] if ray[1] < 0 else (scene.plan.ceiling - eye[1]) / ray[1]
            depth[row, column] = min(plane, nearest_hit(scene, eye, ray))
    return depth


def nearest_hit(scene: Apartment, eye: np.ndarray, ray: np.ndarray) -> float:
    """Depth at which a ray first enters a box or a cylinder."""
    solids = scene.geometry.solids.astype(float).T
    cos, sin, is_round = solids[COS], solids[SIN], (solids[FLAGS].astype(int) & CYLINDER) != 0
    away_x, away_z = eye[0] - solids[X], eye[2] - solids[Z]
    start = np.stack([cos * away_x - sin * away_z, np.full_like(cos, eye[1]), sin * away_x + cos * away_z])
    speed = np.stack([cos * ray[0] - sin * ray[2], np.full_like(cos, ray[1]), sin * ray[0] + cos * ray[2]])
    low = np.stack([-solids[HALF_X], solids[BOTTOM], -solids[HALF_Z]])
    high = np.stack([solids[HALF_X], solids[TOP], solids[HALF_Z]])
    first, last = np.sort([(low - start) / speed, (high - start) / speed], axis=0)
    a, b = speed[0] ** 2 + speed[2] ** 2, start[0] * speed[0] + start[2] * speed[2]
    root = np.sqrt(np.maximum(b * b - a * (start[0] ** 2 + start[2] ** 2 - solids[HALF_X] ** 2), 0))
    for side in (0, 2):
        first[side], last[side] = np.where(is_round, [(-b - root) / a, (-b + root) / a], [first[side], last[side]])
    enter, leave = first.max(0), last.min(0)
    hit = (enter > 0.01) & (enter < leave)
    return float(enter[hit].min(initial=math.inf))


@pytest.mark.parametrize(("number", "start"), [(0, 0), (3, 7), (21, 2)])
def test_depth_matches_ray_tracer(number: int, start: int) -> None:
    scene, pose = apartment(number), ApartmentScenes().start(number, start)
    _, depth = picture(scene, pose)
    error = np.abs(depth - traced_depth(scene, pose)) / depth
    # Edges exactly between pixels may fall on either side.
    assert (error > 1e-4).mean() < 0.004
    assert np.median(error) < 1e-6


@pytest.mark.parametrize("number", [6, 14, 33])
def test_no_ray_escapes_the_house(number: int) -> None:
    scene, size = apartment(number), 64
    across = (2 * np.arange(size) + 1) / size - 1
    for start in range(4):
        pose = ApartmentScenes().start(number, start)
        _, depth = picture(scene, pose, size)
        x = pose.x + depth * (-math.sin(pose.heading) + across * math.cos(pose.heading))
        z = pose.z + depth * (-math.cos(pose.heading) - across * math.sin(pose.heading))
        houses = [room.grown(OUTER_WALL + 1e-3) for room in scene.plan.rooms]
        inside = [(room.x0 <= x) & (x <= room.x1) & (room.z0 <= z) & (z <= room.z1) for room in houses]
        assert np.any(inside, axis=0).all()


def test_images_are_textured_and_deterministic() -> None:
    poses = [ApartmentScenes().start(number, 2) for number in (2, 4)]
    views = [picture(apartment(number), pose, 64)[0] for number, pose in zip((2, 4), poses, strict=True)]
    for view in views:
        assert len(np.unique(view.reshape(-1, 3), axis=0)) > 300
    assert np.abs(views[0].astype(int) - views[1].astype(int)).mean() > 8
    apartment.cache_clear()
    np.testing.assert_array_equal(picture(apartment(2), poses[0], 64)[0], views[0])


def test_sizes_show_the_same_view() -> None:
    pose = ApartmentScenes().start(2, 1)
    small, large = (picture(apartment(2), pose, size)[0].astype(float) for size in (32, 128))
    shrunk = large.reshape(32, 4, 32, 4, 3).mean((1, 3))
    assert np.abs(small - shrunk).mean() < 9


def test_turning_right_shifts_the_image_left() -> None:
    scene, pose = apartment(2), ApartmentScenes().start(2, 1)
    _, before = picture(scene, pose, 64)
    _, after = picture(scene, pose._replace(heading=pose.heading - math.radians(45)), 64)
    # The central ray of the second view is the right edge of the first.
    assert after[32, 31:33].mean() / math.sqrt(2) == pytest.approx(before[32, 63], rel=0.15)

"""Depth is exact: it equals a ray tracer that tries every solid for every pixel."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bonuslab.envs.habitat.apartments.drawing import draw
from bonuslab.envs.habitat.apartments.geometry import BOTTOM, COS, FACES, FLAGS, HALF_X, HALF_Z, SIN, TOP, X, Z
from bonuslab.envs.habitat.apartments.looks.noise import SIZE as TEXTURE_SIZE
from bonuslab.envs.habitat.apartments.looks.textures import TEXELS, textures
from bonuslab.envs.habitat.apartments.scene import Apartment, apartment
from bonuslab.envs.habitat.apartments.simulator import ApartmentScenes
from bonuslab.envs.habitat.apartments.solids import CYLINDER, HOLED
from bonuslab.envs.habitat.apartments.walls import OUTER_WALL
from bonuslab.envs.habitat.simulator import CAMERA_HEIGHT, Pose

SIZE = 20


def picture(scene: Apartment, pose: Pose, size: int = SIZE) -> tuple[np.ndarray, np.ndarray]:
    rgb, depth = np.zeros((size, size, 3), np.uint8), np.zeros((size, size), np.float32)
    draw(scene.geometry, pose.x, pose.z, pose.heading, rgb, depth)
    return rgb, depth


def traced_depth(scene: Apartment, pose: Pose) -> np.ndarray:
    """[SIZE, SIZE]: the nearest crossing of each pixel's ray with floor, ceiling or any solid."""
    depth = np.empty((SIZE, SIZE))
    ahead = np.array([-math.sin(pose.heading), 0.0, -math.cos(pose.heading)])
    right, up = np.array([-ahead[2], 0.0, ahead[0]]), np.array([0.0, 1.0, 0.0])
    eye = np.array([pose.x, CAMERA_HEIGHT, pose.z])
    for row in range(SIZE):
        for column in range(SIZE):
            # A field of view of 90 degrees: the picture's edge is as far from its middle as the picture from the eye.
            across, above = (2 * column + 1) / SIZE - 1, 1 - (2 * row + 1) / SIZE
            ray = ahead + across * right + above * up  # its length along `ahead` is 1, so distances are depths
            plane = -eye[1] / ray[1] if ray[1] < 0 else (scene.plan.ceiling - eye[1]) / ray[1]
            depth[row, column] = min(plane, nearest_hit(scene, eye, ray))
    return depth


def nearest_hit(scene: Apartment, eye: np.ndarray, ray: np.ndarray) -> float:
    """Where a ray first enters a box or a cylinder, going on through holes."""
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
    for number in np.argsort(enter):
        if 0.01 < enter[number] < leave[number]:
            point = start[:, number] + enter[number] * speed[:, number]
            if not is_hole(scene, solids[:, number], point, low[:, number], high[:, number]):
                return float(enter[number])
    return math.inf


def is_hole(scene: Apartment, solid: np.ndarray, point: np.ndarray, low: np.ndarray, high: np.ndarray) -> bool:
    """Whether a point of a face is empty."""
    if not int(solid[FLAGS]) & HOLED:
        return False
    shares = (point - low) / (high - low)
    at_z_side = min(shares[2], 1 - shares[2]) < min(shares[0], 1 - shares[0])
    face = (2 if shares[2] < 0.5 else 3) if at_z_side else (0 if shares[0] < 0.5 else 1)
    share = shares[0] if at_z_side else shares[2]
    column = min(TEXTURE_SIZE - 1, int((1 - share if face in (1, 2) else share) * TEXTURE_SIZE))
    line = min(TEXTURE_SIZE - 1, int((1 - shares[1]) * TEXTURE_SIZE))
    texture = int(scene.geometry.materials[int(solid[FACES + face]), 0])
    return bool(textures()[texture * TEXELS + column * TEXTURE_SIZE + line] == 0)


@pytest.mark.parametrize(("number", "start"), [(0, 0), (3, 7), (21, 2)])
def test_depth_equals_a_ray_tracer(number: int, start: int) -> None:
    scene, pose = apartment(number), ApartmentScenes().start(number, start)
    _, depth = picture(scene, pose)
    error = np.abs(depth - traced_depth(scene, pose)) / depth
    # Edges that run exactly between pixels may fall on either side.
    assert (error > 1e-4).mean() < 0.004
    assert np.median(error) < 1e-6


@pytest.mark.parametrize("number", [6, 14, 33])
def test_no_gap_lets_a_ray_out_of_the_house(number: int) -> None:
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


def test_pictures_are_textured_and_repeatable() -> None:
    poses = [ApartmentScenes().start(number, 1) for number in (2, 4)]
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


def test_turning_right_moves_the_picture_to_the_left() -> None:
    scene, pose = apartment(2), ApartmentScenes().start(2, 1)
    _, before = picture(scene, pose, 64)
    _, after = picture(scene, pose._replace(heading=pose.heading - math.radians(45)), 64)
    # The ray in the middle of the second view is the one at the right edge of the first.
    assert after[32, 31:33].mean() / math.sqrt(2) == pytest.approx(before[32, 63], rel=0.15)

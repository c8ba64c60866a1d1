"""Apartments are reachable everywhere, reproducible, and differ from each other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import label

from bonuslab.envs.habitat.apartments.plan import Rectangle, RoomKind, walls_around
from bonuslab.envs.habitat.apartments.scene import NUM_APARTMENTS, Apartment, apartment
from bonuslab.envs.habitat.apartments.solids import CYLINDER
from bonuslab.envs.habitat.simulator import AGENT_RADIUS

SOME = tuple(range(0, NUM_APARTMENTS, 42))


def assert_sound(scene: Apartment) -> None:
    """What every apartment must be."""
    navigable, plan = scene.map.navigable, scene.plan
    assert label(navigable)[1] == 1, "navigable area falls apart"
    assert 15 < scene.map.area < sum(room.area for room in plan.rooms)
    for room in plan.rooms:
        rows = slice(round((room.z0 - scene.map.z0) / 0.05), round((room.z1 - scene.map.z0) / 0.05))
        columns = slice(round((room.x0 - scene.map.x0) / 0.05), round((room.x1 - scene.map.x0) / 0.05))
        share = navigable[rows, columns].mean()
        assert share > 0.15, f"only {share:.0%} of a room of {scene.number} can be walked on"
    assert {RoomKind.LIVING, RoomKind.KITCHEN, RoomKind.BATHROOM} <= set(plan.kinds)
    assert len(plan.rooms) >= 5
    assert any(opening.kind == "window" for wall in plan.walls for opening in wall.openings)
    assert 100 < len(scene.geometry.solids) < 1200
    assert len(scene.geometry.solids) > 12 * len(plan.rooms), "hardly any furniture"


@pytest.mark.parametrize("number", SOME)
def test_an_apartment_is_sound(number: int) -> None:
    assert_sound(apartment(number))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_all_apartments_are_sound_and_different() -> None:
    shapes = set()
    for number in range(NUM_APARTMENTS):
        scene = apartment(number)
        assert_sound(scene)
        shapes.add(scene.map.navigable.tobytes())
    assert len(shapes) == NUM_APARTMENTS


def test_no_navigable_cell_is_nearer_to_a_solid_than_the_agent_is_wide() -> None:
    scene = apartment(7)
    rows, columns = np.nonzero(scene.map.navigable)
    x, z = scene.map.x0 + (columns + 0.5) * scene.map.cell, scene.map.z0 + (rows + 0.5) * scene.map.cell
    checked = 0
    for solid in scene.geometry.solids.astype(float):
        centre_x, centre_z, half_x, half_z, cos, sin, bottom, top = solid[:8]
        if top < 0.13 or bottom > 0.3:  # stepped over, or perhaps above the agent's head
            continue
        away_x, away_z = x - centre_x, z - centre_z
        if int(solid[8]) & CYLINDER:
            distance = np.hypot(away_x, away_z) - half_x
        else:
            beside = np.maximum(np.abs(cos * away_x - sin * away_z) - half_x, 0)
            distance = np.hypot(beside, np.maximum(np.abs(sin * away_x + cos * away_z) - half_z, 0))
        if half_x < 0.01 or half_z < 0.01:  # leaves of plants give way
            continue
        assert distance.min() >= AGENT_RADIUS - 1e-6
        checked += 1
    assert checked > 60


def test_the_same_number_gives_the_same_apartment() -> None:
    first = apartment(11)
    apartment.cache_clear()
    again = apartment(11)
    assert again is not first
    for one, other in zip(first.geometry, again.geometry, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(first.map.navigable, again.map.navigable)


def test_apartments_differ_in_shape_and_looks() -> None:
    scenes = [apartment(number) for number in SOME]
    assert len({scene.map.navigable.tobytes() for scene in scenes}) == len(SOME)
    assert len({len(scene.plan.rooms) for scene in scenes}) > 3
    assert len({scene.plan.ceiling for scene in scenes}) > 2
    floors = {scene.geometry.materials[scene.geometry.floor[30, 30], 7:].tobytes() for scene in scenes}
    assert len(floors) > len(SOME) // 2


def test_walls_are_found_once_and_cut_where_rooms_change() -> None:
    rooms = [Rectangle(0, 0, 4, 3), Rectangle(4, 0, 8, 3), Rectangle(0, 3, 8, 6)]
    walls = walls_around(rooms)
    inner = {(wall.sides, wall.low, wall.high) for wall in walls if not wall.is_outer}
    assert inner == {((0, 1), 0, 3), ((0, 2), 0, 4), ((1, 2), 4, 8)}
    outer = sum(wall.high - wall.low for wall in walls if wall.is_outer)
    assert outer == 2 * (8 + 6)

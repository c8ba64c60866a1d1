"""Apartments are connected, reproducible, and different from each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.ndimage import label

from bonuslab.envs.habitat.apartments import navigation
from bonuslab.envs.habitat.apartments.geometry import COLOURS
from bonuslab.envs.habitat.apartments.materials import Material, shades
from bonuslab.envs.habitat.apartments.navigation import block, cells_of
from bonuslab.envs.habitat.apartments.plan import Rectangle, RoomKind, walls_around
from bonuslab.envs.habitat.apartments.scene import NUM_APARTMENTS, Apartment, apartment
from bonuslab.envs.habitat.apartments.solids import CYLINDER, Place, Solids
from bonuslab.envs.habitat.apartments.walls import HALF_WALL
from bonuslab.envs.habitat.simulator import AGENT_RADIUS, NavigableMap

SOME = tuple(range(0, NUM_APARTMENTS, 42))


def assert_sound(scene: Apartment) -> None:
    """The invariants of every apartment."""
    navigable, plan = scene.map.navigable, scene.plan
    assert label(navigable)[1] == 1, "the navigable area is not connected"
    assert 15 < scene.map.area < sum(room.area for room in plan.rooms)
    for room in plan.rooms:
        share = navigable[cells_of(scene.map, room)].mean()
        assert share > 0.15, f"only {share:.0%} of a room in apartment {scene.number} is navigable"
    assert {RoomKind.LIVING, RoomKind.KITCHEN, RoomKind.BATHROOM} <= set(plan.kinds)
    assert len(plan.rooms) >= 5
    assert any(opening.kind == "window" for wall in plan.walls for opening in wall.openings)
    assert 100 < len(scene.geometry.solids) < 1200
    assert len(scene.geometry.solids) > 12 * len(plan.rooms), "hardly any furniture"


@pytest.mark.parametrize("number", SOME)
def test_apartment_is_sound(number: int) -> None:
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


def test_navigable_cells_keep_the_agents_radius_from_solids() -> None:
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
        assert distance.min() >= AGENT_RADIUS - 1e-5  # solids are single precision
        checked += 1
    assert checked > 60


def test_standing_and_hanging_solids_block_the_agent() -> None:
    solids, wood = Solids(), Material("wood", shades((150, 100, 60)))
    spot = Place(solids, 3.0, 2.0, 0.4)
    spot.box((0.8, 0.04, 0.5), wood, bottom=0.7)  # the top of a table
    spot.cylinder(0.2, 0.5, wood, x=1.5)
    spot.box((0.8, 0.12, 0.5), wood, x=-1.5)  # stepped over
    spot.box((0.8, 0.3, 0.5), wood, z=1.4, bottom=1.5)  # above the agent's head
    spot.box((0.8, 1.0, 0.5), wood, z=-1.4, solid=False)
    map_ = NavigableMap(np.ones((80, 120), np.bool_), 0.0, 0.0)
    block(map_, solids)
    u, v = (axis.ravel() for axis in np.meshgrid(np.linspace(-0.4, 0.4, 81), np.linspace(-0.25, 0.25, 51)))
    angle, radius = (axis.ravel() for axis in np.meshgrid(np.linspace(0, 2 * math.pi, 200), (0.0, 0.1, 0.2)))
    table, column = spot.world(u, v), spot.world(1.5 + radius * np.cos(angle), radius * np.sin(angle))
    x, z = np.concatenate([table, column], axis=1)  # points all over both solids
    for (row, cell), free in np.ndenumerate(map_.navigable):
        distance = np.hypot(x - (cell + 0.5) * map_.cell, z - (row + 0.5) * map_.cell).min()
        assert free == (distance >= AGENT_RADIUS) or abs(distance - AGENT_RADIUS) < 1e-3


def test_apartments_are_deterministic() -> None:
    first = apartment(11)
    apartment.cache_clear()
    again = apartment(11)
    assert again is not first
    for one, other in zip(first.geometry, again.geometry, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(first.map.navigable, again.map.navigable)


def test_floor_does_not_depend_on_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Uncompiled code stands in for other machines, where compiled code rounds differently."""
    compiled = [apartment(number).map.navigable for number in (1, 3)]
    monkeypatch.setattr(navigation, "_block", navigation._block.py_func)  # type: ignore[attr-defined]
    for number, navigable in zip((1, 3), compiled, strict=True):
        np.testing.assert_array_equal(apartment.__wrapped__(number).map.navigable, navigable)


@pytest.mark.parametrize("number", SOME[::4])
def test_nothing_reaches_through_a_wall(number: int) -> None:
    scene, checked = apartment(number), 0
    for x, z, half_x, half_z, cos, sin in scene.geometry.solids[:, :6].astype(float):
        reach_x, reach_z = abs(cos) * half_x + abs(sin) * half_z, abs(sin) * half_x + abs(cos) * half_z
        for room in scene.plan.rooms:
            if room.grown(-HALF_WALL - 1e-4).contains(x, z):  # not a part of a wall itself
                far_side = room.grown(HALF_WALL + 1e-5)
                assert far_side.contains(x - reach_x, z - reach_z)
                assert far_side.contains(x + reach_x, z + reach_z)
                checked += 1
    assert checked > 60


def test_apartments_differ_in_shape_and_looks() -> None:
    scenes = [apartment(number) for number in SOME]
    assert len({scene.map.navigable.tobytes() for scene in scenes}) == len(SOME)
    assert len({len(scene.plan.rooms) for scene in scenes}) > 3
    assert len({scene.plan.ceiling for scene in scenes}) > 2
    floors = {scene.geometry.materials[scene.geometry.floor[30, 30], COLOURS:].tobytes() for scene in scenes}
    assert len(floors) > len(SOME) // 2


def test_walls_are_unique_and_split_where_rooms_change() -> None:
    rooms = [Rectangle(0, 0, 4, 3), Rectangle(4, 0, 8, 3), Rectangle(0, 3, 8, 6)]
    walls = walls_around(rooms)
    inner = {(wall.sides, wall.low, wall.high) for wall in walls if not wall.is_outer}
    assert inner == {((0, 1), 0, 3), ((0, 2), 0, 4), ((1, 2), 4, 8)}
    outer = sum(wall.high - wall.low for wall in walls if wall.is_outer)
    assert outer == 2 * (8 + 6)

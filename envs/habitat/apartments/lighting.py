"""Works out once per scene how bright each patch of floor and the air above it is."""

from __future__ import annotations

import math
from random import Random
from typing import NamedTuple

import numpy as np
from scipy.ndimage import uniform_filter

from bonuslab.envs.habitat.apartments.geometry import MARGIN, PATCH, grid_shape, patches_of
from bonuslab.envs.habitat.apartments.plan import Opening, Plan, Wall
from bonuslab.envs.habitat.apartments.solids import WALL, Solids
from bonuslab.envs.habitat.compiled import compiled

NIGHT_SKY = 5
"""The panorama that shows a town at night."""


class Daylight(NamedTuple):
    """What comes in through the windows."""

    sky: int
    strength: float
    sun_x: float
    sun_z: float
    """Horizontal direction towards the sun."""
    rise: float
    """Metres that its light falls for each metre that it travels; 0 if no sun is seen."""
    tint: tuple[float, float, float]


def draw_daylight(rng: Random) -> Daylight:
    """Morning, noon, dull or night."""
    kind = rng.random()
    angle = rng.uniform(0, 2 * math.pi)
    sun_x, sun_z = math.cos(angle), math.sin(angle)
    if kind < 0.14:
        return Daylight(NIGHT_SKY, 0.0, sun_x, sun_z, 0.0, (1.04, 0.97, 0.84))
    sky = rng.randrange(NIGHT_SKY)
    if kind < 0.45:
        return Daylight(sky, rng.uniform(0.5, 0.8), sun_x, sun_z, 0.0, (0.98, 1.0, 1.03))
    warmth = rng.uniform(0, 0.06)
    return Daylight(sky, rng.uniform(0.8, 1.1), sun_x, sun_z, rng.uniform(0.5, 1.1), (1 + warmth, 1.0, 1 - warmth))


def bake(plan: Plan, solids: Solids, windows: list[tuple[Wall, Opening]], daylight: Daylight) -> np.ndarray:
    """[2, rows, columns] float32: brightness on the floor and above it, about 1 where it is well lit."""
    bounds = plan.bounds.grown(MARGIN)
    rows, columns = grid_shape(plan, PATCH)
    rooms = np.full((rows, columns), -1, np.int16)
    for number, room in enumerate(plan.rooms):
        rooms[patches_of(plan, room)] = number
    shapes, flags = np.array(solids.shapes, np.float64), np.array(solids.flags)
    walls, things = (np.zeros((rows, columns), np.float32) for _ in range(2))
    is_wall = (flags & WALL) != 0
    _cover(walls, bounds.x0, bounds.z0, shapes[is_wall], 0.0)
    low = ~is_wall & (shapes[:, 6] < 1.1)
    _cover(things, bounds.x0, bounds.z0, shapes[low], 1.2)
    sources = _sources(plan, solids, windows, daylight)
    air = np.full((rows, columns), 0.42 if daylight.strength else 0.3)
    _spread(air, rooms, bounds.x0, bounds.z0, sources)
    air = _even_out(air, walls, 10)
    corners = uniform_filter(walls, 7)
    shadow = uniform_filter(np.maximum(things, walls * 0.8), 5)
    air *= 1.06 - 0.3 * corners
    floor = air * (1.04 - 0.55 * shadow)
    if daylight.rise:
        for wall, opening in windows:
            number = next(side for side in wall.sides if side is not None)
            _let_sun_in(floor, rooms, number, bounds.x0, bounds.z0, wall, opening, daylight)
    return (1.2 * (1.0 - np.exp(-1.25 * np.stack([floor, air])))).astype(np.float32)  # as video: bright is not white


def _sources(plan: Plan, solids: Solids, windows: list[tuple[Wall, Opening]], daylight: Daylight) -> np.ndarray:
    """[S, 4]: x, z, strength, and the room that the light is in."""
    found: list[tuple[float, float, float, float]] = []
    dimmed = 0.42 if daylight.strength else 0.85
    for x, z, strength in solids.lamps:
        room = next((number for number, each in enumerate(plan.rooms) if each.contains(x, z)), -1)
        found.append((x, z, dimmed * strength, room))
    for wall, opening in windows:
        room = next(side for side in wall.sides if side is not None)
        along = (opening.low + opening.high) / 2
        x, z = (along, wall.at) if wall.axis == 0 else (wall.at, along)
        size = (opening.high - opening.low) * (opening.top - opening.bottom)
        found.append((x, z, daylight.strength * min(0.75, 0.32 * size), room))
    return np.array(found, np.float64).reshape(-1, 4)


@compiled
def _cover(field: np.ndarray, x0: float, z0: float, shapes: np.ndarray, fades: float) -> None:
    """Mark patches under solids, the less the higher these hang."""
    for number in range(shapes.shape[0]):
        x, z, half_x, half_z, cos, sin, bottom = shapes[number, :7]
        share = 1.0 - 0.7 * bottom / fades if fades > 0 else 1.0
        reach_x, reach_z = abs(cos) * half_x + abs(sin) * half_z, abs(sin) * half_x + abs(cos) * half_z
        first_row, last_row = int((z - reach_z - z0) / PATCH), int((z + reach_z - z0) / PATCH)
        first_column, last_column = int((x - reach_x - x0) / PATCH), int((x + reach_x - x0) / PATCH)
        for row in range(max(0, first_row), min(field.shape[0], last_row + 1)):
            for column in range(max(0, first_column), min(field.shape[1], last_column + 1)):
                away_x, away_z = x0 + (column + 0.5) * PATCH - x, z0 + (row + 0.5) * PATCH - z
                # By how much of the patch is covered, so that thin things throw thin shadows.
                part_x = min(1.0, max(0.0, (half_x + PATCH / 2 - abs(cos * away_x - sin * away_z)) / PATCH))
                part_z = min(1.0, max(0.0, (half_z + PATCH / 2 - abs(sin * away_x + cos * away_z)) / PATCH))
                part = min(part_x, 2 * half_x / PATCH) * min(part_z, 2 * half_z / PATCH)
                field[row, column] = max(field[row, column], share * part)


def _spread(air: np.ndarray, rooms: np.ndarray, x0: float, z0: float, sources: np.ndarray) -> None:
    """Add every light to the patches of its own room."""
    for x, z, strength, room in sources:
        rows, columns = np.nonzero(rooms == room)
        away = (x0 + (columns + 0.5) * PATCH - x) ** 2 + (z0 + (rows + 0.5) * PATCH - z) ** 2
        air[rows, columns] += strength / (1.0 + away / 5.0)


def _even_out(air: np.ndarray, walls: np.ndarray, rounds: int) -> np.ndarray:
    """Let light seep through doors, and give walls the light before them."""
    # A wall's own light counts almost nothing to itself and nothing to its neighbours.
    own, given = np.where(walls > 0.5, 1e-3, 0.5), np.where(walls > 0.5, 0.0, 1.0)
    total_weight = own + 4 * _mean_of_neighbours(given)
    for _ in range(rounds):
        air = (own * air + 4 * _mean_of_neighbours(given * air)) / total_weight
    return air


def _mean_of_neighbours(field: np.ndarray) -> np.ndarray:
    """The mean of each patch's four neighbours."""
    padded = np.pad(field, 1, mode="edge")
    return (padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]) / 4


def _let_sun_in(
    floor: np.ndarray,
    rooms: np.ndarray,
    room: int,
    x0: float,
    z0: float,
    wall: Wall,
    opening: Opening,
    daylight: Daylight,
) -> None:
    """Brighten the patches of a room's floor from which the sun is seen through a window."""
    rows, columns = np.nonzero(rooms == room)
    x, z = x0 + (columns + 0.5) * PATCH, z0 + (rows + 0.5) * PATCH
    across, along, position, beside = (
        (daylight.sun_z, daylight.sun_x, z, x) if wall.axis == 0 else (daylight.sun_x, daylight.sun_z, x, z)
    )
    if abs(across) < 0.15:
        return
    travelled = (wall.at - position) / across
    height, place = travelled * daylight.rise, beside + travelled * along
    share = [
        np.clip((value - low) / PATCH + 0.5, 0, 1) * np.clip((high - value) / PATCH + 0.5, 0, 1)
        for value, low, high in (
            (height, opening.bottom, opening.top),
            (place, opening.low + 0.05, opening.high - 0.05),
        )
    ]
    lit = np.where(travelled > 0, share[0] * share[1], 0.0)
    floor[rows, columns] += 0.9 * lit

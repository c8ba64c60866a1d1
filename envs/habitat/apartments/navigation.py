"""The navigable map, and how the agent moves on it."""

from __future__ import annotations

import math

import numpy as np
from scipy.ndimage import binary_opening, label

from bonuslab.envs.habitat.apartments.plan import ApartmentPlan, Rectangle
from bonuslab.envs.habitat.apartments.solids import CYLINDER, Solids
from bonuslab.envs.habitat.compiled import compiled
from bonuslab.envs.habitat.simulator import AGENT_RADIUS, CELL_METRES, NavigableMap

_SMALL_STEP = 0.01
"""Metres per increment of a move."""
_TOO_NEAR = AGENT_RADIUS - 1e-6
"""Metres, slightly below the radius: distances of exactly one radius are common, and there rounding would decide.
Compiled code rounds differently between machines, so the same apartment would have different floors and starts."""


def open_map(plan: ApartmentPlan) -> NavigableMap:
    """All floor, as if there were no walls."""
    bounds = plan.bounds
    rows, columns = round(bounds.depth / CELL_METRES), round(bounds.width / CELL_METRES)
    whole = NavigableMap(np.zeros((rows, columns), np.bool_), bounds.x0, bounds.z0)
    for room in plan.rooms:
        whole.navigable[cells_of(whole, room)] = True
    return whole


def cells_of(map_: NavigableMap, room: Rectangle) -> tuple[slice, slice]:
    """(rows, columns) of a room's cells."""
    z0, z1 = (round((edge - map_.z0) / map_.cell) for edge in (room.z0, room.z1))
    x0, x1 = (round((edge - map_.x0) / map_.cell) for edge in (room.x0, room.x1))
    return slice(z0, z1), slice(x0, x1)


def block(map_: NavigableMap, solids: Solids, first: int = 0) -> None:
    """Clear the cells at whose centre the agent would touch a solid, from solid `first` on."""
    blocking = np.array(solids.blocking[first:], np.bool_)
    shapes = np.array(solids.shapes[first:], np.float64).reshape(-1, 8)[blocking]  # also if there are none
    is_round = (np.array(solids.flags[first:], np.int64)[blocking] & CYLINDER) != 0
    _block(map_.navigable, map_.x0, map_.z0, shapes, is_round)


def largest_part(free: np.ndarray) -> np.ndarray:
    """The largest 4-connected set of cells, without passages narrower than three cells."""
    # An agent that moves by 0.25 metres at odd angles would get stuck in a passage of one cell.
    parts, count = label(binary_opening(free, np.ones((3, 3))))
    return parts == 1 + np.argmax(np.bincount(parts.ravel())[1:]) if count else np.zeros_like(free)


@compiled
def _block(free: np.ndarray, x0: float, z0: float, shapes: np.ndarray, is_round: np.ndarray) -> None:
    """Clear all cells whose centre is closer to a solid than the agent's radius."""
    for number in range(shapes.shape[0]):
        x, z, half_x, half_z, cos, sin = shapes[number, :6]
        reach_x = abs(cos) * half_x + abs(sin) * half_z + AGENT_RADIUS
        reach_z = abs(sin) * half_x + abs(cos) * half_z + AGENT_RADIUS
        first_row, last_row = int((z - reach_z - z0) / CELL_METRES), int((z + reach_z - z0) / CELL_METRES)
        first_column, last_column = int((x - reach_x - x0) / CELL_METRES), int((x + reach_x - x0) / CELL_METRES)
        for row in range(max(0, first_row), min(free.shape[0], last_row + 1)):
            for column in range(max(0, first_column), min(free.shape[1], last_column + 1)):
                away_x = x0 + (column + 0.5) * CELL_METRES - x
                away_z = z0 + (row + 0.5) * CELL_METRES - z
                if is_round[number]:
                    distance = math.hypot(away_x, away_z) - half_x
                else:
                    beside = max(abs(cos * away_x - sin * away_z) - half_x, 0.0)
                    before = max(abs(sin * away_x + cos * away_z) - half_z, 0.0)
                    distance = math.hypot(beside, before)
                if distance < _TOO_NEAR:
                    free[row, column] = False


@compiled
def move(
    free: np.ndarray, x0: float, z0: float, x: float, z: float, heading: float, metres: float
) -> tuple[float, float]:
    """Position after a forward step: straight on while cells are free, otherwise along the wall."""
    steps = math.ceil(metres / _SMALL_STEP)
    dx, dz = -math.sin(heading) * metres / steps, -math.cos(heading) * metres / steps
    for _ in range(steps):
        if _is_free(free, x0, z0, x + dx, z + dz):
            x, z = x + dx, z + dz
        elif _is_free(free, x0, z0, x + dx, z):
            x += dx
        elif _is_free(free, x0, z0, x, z + dz):
            z += dz
        else:
            break
    return x, z


@compiled
def _is_free(free: np.ndarray, x0: float, z0: float, x: float, z: float) -> bool:
    row, column = math.floor((z - z0) / CELL_METRES), math.floor((x - x0) / CELL_METRES)
    return 0 <= row < free.shape[0] and 0 <= column < free.shape[1] and free[int(row), int(column)]

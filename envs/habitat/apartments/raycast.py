"""Visibility: casts one ray through the plan per image column, and finds the depth of each pixel in the column.

The camera never tilts, so all pixels of a column lie in one vertical plane. A ray in the plan meets each solid over an
interval of depths, which gives the rows covered by its front, top and underside. Depth is measured along the viewing
direction, as in Habitat.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from bonuslab.envs.habitat.apartments.geometry import (
    BOTTOM,
    COS,
    FLAGS,
    FRAME_X,
    FRAME_Z,
    HALF_X,
    HALF_Z,
    SIN,
    TILE,
    TOP,
    X,
    Z,
)
from bonuslab.envs.habitat.apartments.solids import CYLINDER, WALL
from bonuslab.envs.habitat.compiled import compiled

FLOOR: Final = -1
CEILING: Final = -2
"""What a pixel shows, besides 8 * solid + face."""
UP: Final = 4
DOWN: Final = 5
_NEAR: Final = 0.01
_FAR: Final = 1e9
_EPSILON: Final = 1e-9
"""Replaces 0 in divisors."""


@compiled
def cast(
    frame: np.ndarray,
    solids: np.ndarray,
    tiles: np.ndarray,
    members: np.ndarray,
    eye: tuple[float, float, float],
    dx: float,
    dz: float,
    slope: np.ndarray,
    plane: np.ndarray,
    seen: np.ndarray,
    mark: int,
    depth: np.ndarray,
    shown: np.ndarray,
) -> None:
    """Fill one column's `depth` and `shown` [H] for the ray (x, z) + depth * (dx, dz)."""
    for row in range(slope.shape[0]):
        depth[row] = plane[row]
        shown[row] = FLOOR if slope[row] < 0 else CEILING
    x, z = eye[0] - frame[FRAME_X], eye[2] - frame[FRAME_Z]
    column, line = int(x / TILE), int(z / TILE)
    dx = dx if abs(dx) > _EPSILON else _EPSILON
    dz = dz if abs(dz) > _EPSILON else _EPSILON
    step_x, step_z = (1 if dx > 0 else -1), (1 if dz > 0 else -1)
    next_x, next_z = (TILE * (column + (dx > 0)) - x) / dx, (TILE * (line + (dz > 0)) - z) / dz
    entered, wall = 0.0, _FAR
    while entered < wall and 0 <= line < tiles.shape[0] and 0 <= column < tiles.shape[1]:
        for place in range(tiles[line, column, 0], tiles[line, column, 1]):
            solid = members[place]
            if seen[solid] != mark:
                seen[solid] = mark
                wall = min(wall, _paint(solids, solid, eye, dx, dz, slope, depth, shown))
        if next_x < next_z:
            entered, column = next_x, column + step_x
            next_x += TILE / abs(dx)
        else:
            entered, line = next_z, line + step_z
            next_z += TILE / abs(dz)


@compiled
def _paint(
    solids: np.ndarray,
    solid: int,
    eye: tuple[float, float, float],
    dx: float,
    dz: float,
    slope: np.ndarray,
    depth: np.ndarray,
    shown: np.ndarray,
) -> float:
    """Draw one solid into a column; returns the depth behind which it hides everything."""
    cos, sin = solids[solid, COS], solids[solid, SIN]
    half_x, half_z = solids[solid, HALF_X], solids[solid, HALF_Z]
    away_x, away_z = eye[0] - solids[solid, X], eye[2] - solids[solid, Z]
    ox, oz = cos * away_x - sin * away_z, sin * away_x + cos * away_z
    vx, vz = cos * dx - sin * dz, sin * dx + cos * dz
    flags = int(solids[solid, FLAGS])
    face = 3
    if flags & CYLINDER:
        a, b = vx * vx + vz * vz, ox * vx + oz * vz
        inside = b * b - a * (ox * ox + oz * oz - half_x * half_x)
        if inside <= 0:
            return _FAR
        root = math.sqrt(inside)
        enter, leave = (-b - root) / a, (-b + root) / a
    else:
        vx = vx if abs(vx) > _EPSILON else _EPSILON
        vz = vz if abs(vz) > _EPSILON else _EPSILON
        ax, bx, az, bz = (-half_x - ox) / vx, (half_x - ox) / vx, (-half_z - oz) / vz, (half_z - oz) / vz
        near_x, near_z = min(ax, bx), min(az, bz)
        enter, leave = max(near_x, near_z), min(max(ax, bx), max(az, bz))
        if near_x > near_z:
            face = 0 if vx > 0 else 1
        else:
            face = 2 if vz > 0 else 3
    if leave <= enter or leave <= _NEAR:
        return _FAR
    rows = slope.shape[0]
    focal, middle = rows / 2, (rows - 1) / 2  # the row of slope s is middle - s * focal
    bottom, top = solids[solid, BOTTOM] - eye[1], solids[solid, TOP] - eye[1]
    start, code = max(enter, _NEAR), 8 * solid + face
    if enter > _NEAR:
        first = max(0, math.ceil(middle - focal * top / enter))
        last = min(rows - 1, math.floor(middle - focal * bottom / enter))
        for row in range(first, last + 1):
            if enter < depth[row]:
                depth[row], shown[row] = enter, code
    first, last, level, code = 0, -1, 0.0, 8 * solid + UP
    if top < 0:
        first = max(0, math.ceil(middle - focal * top / leave))
        last = min(rows - 1, math.floor(middle - focal * top / start))
        level = top
    elif bottom > 0:
        first = max(0, math.ceil(middle - focal * bottom / start))
        last = min(rows - 1, math.floor(middle - focal * bottom / leave))
        level, code = bottom, 8 * solid + DOWN
    for row in range(first, last + 1):
        distance = level / slope[row]
        if distance < depth[row]:
            depth[row], shown[row] = distance, code
    return start if flags & WALL else _FAR

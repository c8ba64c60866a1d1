"""A scene as a few flat arrays, as the compiled renderer reads it.

Everything about a solid or a material is one row of float32: passing many arrays between compiled functions is slow
to compile and slow to run.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from bonuslab.envs.habitat.apartments.plan import ApartmentPlan, Rectangle
from bonuslab.envs.habitat.apartments.solids import Solids
from bonuslab.envs.habitat.apartments.textures import SIZE, TEXTURE

PATCH: Final = 0.1
"""Metres: cell size of the floor and light maps."""
TILE: Final = 0.5
"""Metres: cell size of the grid in which rays look for solids."""
MARGIN: Final = 0.5
"""Metres around the rooms that the grids cover."""

# Columns of a solid's row: centre, half width and depth, cosine and sine of its rotation, bottom, top, flags, and from
# FACES on the materials of its six faces.
X, Z, HALF_X, HALF_Z, COS, SIN, BOTTOM, TOP, FLAGS, FACES = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9

# Columns of a material's row; from COLOURS on three colours of three parts.
TEXTURE_NUMBER, DENSITY, LOG_DENSITY, GLOW, COLOURS, MATERIAL_COLUMNS = 0, 1, 2, 3, 4, 13

# Entries of the frame.
FRAME_X, FRAME_Z, CEILING_HEIGHT, CEILING_MATERIAL, KEY_X, KEY_Z = 0, 1, 2, 3, 4, 5


class Geometry(NamedTuple):
    """Everything needed to draw a scene."""

    frame: np.ndarray
    """[6] float64: corner of the grids, height and material of the ceiling, direction of the light."""
    solids: np.ndarray
    """[P, FACES + 6] float32."""
    materials: np.ndarray
    """[M, MATERIAL_COLUMNS] float32. Density is in texels per metre, 0 for a texture stretched over a face; colours
    include the colour of the light and are scaled for weights from 0 to 255."""
    tiles: np.ndarray
    """[rows, columns, 2] int32: first and last + 1 of a tile's solids in `members`."""
    members: np.ndarray
    """[...] int32: indices of solids."""
    floor: np.ndarray
    """[rows, columns] int16: material of each patch of floor, -1 outside."""
    light: np.ndarray
    """[rows, columns] float32: brightness of each patch."""


def grid_shape(plan: ApartmentPlan, cell: float) -> tuple[int, int]:
    """(rows, columns) of a grid over the plan."""
    bounds = plan.bounds.grown(MARGIN)
    return math.ceil(bounds.depth / cell - 1e-9), math.ceil(bounds.width / cell - 1e-9)


def patches_of(plan: ApartmentPlan, room: Rectangle) -> tuple[slice, slice]:
    """(rows, columns) of a room's patches."""
    bounds = plan.bounds.grown(MARGIN)
    z0, z1 = (round((edge - bounds.z0) / PATCH) for edge in (room.z0, room.z1))
    x0, x1 = (round((edge - bounds.x0) / PATCH) for edge in (room.x0, room.x1))
    return slice(z0, z1), slice(x0, x1)


def make_geometry(
    plan: ApartmentPlan,
    solids: Solids,
    floors: list[int],
    ceiling: int,
    light: np.ndarray,
    tint: tuple[float, float, float],
    key: tuple[float, float],
) -> Geometry:
    """The arrays of a scene; `floors` and `ceiling` are indices of materials, `key` is where most light comes from."""
    bounds = plan.bounds.grown(MARGIN)
    rows = np.array(
        [
            (*shape, flags, *faces)
            for shape, flags, faces in zip(solids.shapes, solids.flags, solids.faces, strict=True)
        ],
        np.float32,
    )
    floor = np.full(grid_shape(plan, PATCH), -1, np.int16)
    for room, number in zip(plan.rooms, floors, strict=True):
        floor[patches_of(plan, room)] = number
    tiles, members = _tile_lists(plan, rows)
    return Geometry(
        frame=np.array([bounds.x0, bounds.z0, plan.ceiling, ceiling, *key]),
        solids=rows,
        materials=_material_rows(solids, np.array(tint)),
        tiles=tiles,
        members=members,
        floor=floor,
        light=light,
    )


def _tile_lists(plan: ApartmentPlan, solids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which solids lie in which tile: (`tiles`, `members`)."""
    rows, columns = grid_shape(plan, TILE)
    bounds = plan.bounds.grown(MARGIN)
    cos, sin = np.abs(solids[:, COS]), np.abs(solids[:, SIN])
    half_x = cos * solids[:, HALF_X] + sin * solids[:, HALF_Z]
    half_z = sin * solids[:, HALF_X] + cos * solids[:, HALF_Z]
    x, z = solids[:, X] - bounds.x0, solids[:, Z] - bounds.z0
    across = np.clip(np.floor(np.stack([x - half_x, x + half_x]) / TILE).astype(int), 0, columns - 1)
    down = np.clip(np.floor(np.stack([z - half_z, z + half_z]) / TILE).astype(int), 0, rows - 1)
    pairs = [
        (row * columns + column, number)
        for number, (x0, x1, z0, z1) in enumerate(zip(*across.tolist(), *down.tolist(), strict=True))
        for row in range(z0, z1 + 1)
        for column in range(x0, x1 + 1)
    ]
    found = np.array(sorted(pairs), np.int32)
    ends = np.searchsorted(found[:, 0], np.arange(rows * columns + 1))
    tiles = np.stack([ends[:-1], ends[1:]], axis=-1).reshape(rows, columns, 2)
    return tiles.astype(np.int32), np.ascontiguousarray(found[:, 1])


def _material_rows(solids: Solids, tint: np.ndarray) -> np.ndarray:
    rows = np.zeros((len(solids.materials), MATERIAL_COLUMNS), np.float32)
    for row, material in zip(rows, solids.materials, strict=True):
        density = SIZE / material.repeat if material.repeat else 0.0
        row[:COLOURS] = TEXTURE[material.texture], density, math.log2(density) if density else 0.0, material.glow
        row[COLOURS:] = (np.array(material.colours) * tint / 255.0).ravel()
    return rows

"""Colours visible pixels: texture, the room's light, and darker edges along floor and ceiling."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from bonuslab.envs.habitat.apartments.geometry import (
    BOTTOM,
    CEILING_HEIGHT,
    CEILING_MATERIAL,
    COLOURS,
    COS,
    DENSITY,
    FACES,
    FLAGS,
    FRAME_X,
    FRAME_Z,
    GLOW,
    HALF_X,
    HALF_Z,
    KEY_X,
    KEY_Z,
    LOG_DENSITY,
    PATCH,
    SIN,
    TEXTURE_NUMBER,
    TOP,
    X,
    Z,
)
from bonuslab.envs.habitat.apartments.raycast import FLOOR, UP
from bonuslab.envs.habitat.apartments.solids import CYLINDER
from bonuslab.envs.habitat.apartments.textures import LEVEL_START, LEVELS, SIZE, TEXELS
from bonuslab.envs.habitat.compiled import compiled

_START: Final = LEVEL_START
_EDGE: Final = 0.35
"""Metres over which walls darken towards floor and ceiling."""


@compiled
def shade_level(
    frame: np.ndarray,
    solids: np.ndarray,
    materials: np.ndarray,
    floor: np.ndarray,
    light: np.ndarray,
    library: np.ndarray,
    eye: tuple[float, float, float],
    dx: float,
    dz: float,
    blur: np.ndarray,
    depth: np.ndarray,
    first: int,
    last: int,
    code: int,
    out: np.ndarray,
) -> None:
    """Colour pixels `first` to `last` - 1 of a column that show floor, ceiling, or a solid's top or underside."""
    material, share = int(frame[CEILING_MATERIAL]), 1.0 if code == FLOOR else 0.96
    x0, z0, cos, sin, half_x, half_z = frame[FRAME_X], frame[FRAME_Z], 1.0, 0.0, 0.0, 0.0
    if code >= 0:
        solid, face = code // 8, code % 8
        material, share = int(solids[solid, FACES + face]), 1.06 if face == UP else 0.62
        x0, z0, cos, sin = solids[solid, X], solids[solid, Z], solids[solid, COS], solids[solid, SIN]
        half_x, half_z = solids[solid, HALF_X], solids[solid, HALF_Z]
    for row in range(first, last):
        x, z = eye[0] + depth[row] * dx, eye[2] + depth[row] * dz
        patch_x, patch_z = (x - frame[FRAME_X]) / PATCH, (z - frame[FRAME_Z]) / PATCH
        if code == FLOOR:
            line, column = min(max(int(patch_z), 0), floor.shape[0] - 1), min(max(int(patch_x), 0), floor.shape[1] - 1)
            material = floor[line, column]
        u, v = cos * (x - x0) - sin * (z - z0) + half_x, sin * (x - x0) + cos * (z - z0) + half_z
        density_u, density_v, log_density = _density(materials, material, 2 * half_x, 2 * half_z)
        texel = _texel(materials, material, _level(blur[row] + log_density), u * density_u, v * density_v)
        _write(materials, material, library, texel, share * _brightness(light, patch_x, patch_z), out, row)


@compiled
def shade_upright(
    frame: np.ndarray,
    solids: np.ndarray,
    materials: np.ndarray,
    light: np.ndarray,
    library: np.ndarray,
    eye: tuple[float, float, float],
    dx: float,
    dz: float,
    slope: np.ndarray,
    distance: float,
    first: int,
    last: int,
    code: int,
    out: np.ndarray,
) -> None:
    """The same for a side of a solid: all these pixels are equally far, so most is computed once."""
    solid, face = code // 8, code % 8
    material = int(solids[solid, FACES + face])
    cos, sin = solids[solid, COS], solids[solid, SIN]
    half_x, half_z = solids[solid, HALF_X], solids[solid, HALF_Z]
    x, z = eye[0] + distance * dx, eye[2] + distance * dz
    away_x, away_z = x - solids[solid, X], z - solids[solid, Z]
    lx, lz = cos * away_x - sin * away_z, sin * away_x + cos * away_z
    if int(solids[solid, FLAGS]) & CYLINDER:
        u, width = (math.atan2(lx, lz) + math.pi) * half_x, 2 * math.pi * half_x
        nx, nz = away_x / half_x, away_z / half_x
    elif face == 0:
        u, width, nx, nz = lz + half_z, 2 * half_z, -cos, sin
    elif face == 1:
        u, width, nx, nz = half_z - lz, 2 * half_z, cos, -sin
    elif face == 2:
        u, width, nx, nz = half_x - lx, 2 * half_x, -sin, -cos
    else:
        u, width, nx, nz = lx + half_x, 2 * half_x, sin, cos
    patch_x, patch_z = (x + PATCH * nx - frame[FRAME_X]) / PATCH, (z + PATCH * nz - frame[FRAME_Z]) / PATCH
    brightness = _brightness(light, patch_x, patch_z) * (0.88 + 0.12 * (nx * frame[KEY_X] + nz * frame[KEY_Z]))
    slant = max(0.08, abs(nx * dx + nz * dz) / math.sqrt(dx * dx + dz * dz))
    blur = math.log2(2.0 * distance / slope.shape[0]) - 0.5 * math.log2(slant)
    top, ceiling = solids[solid, TOP], frame[CEILING_HEIGHT]
    density_u, density_v, log_density = _density(materials, material, width, top - solids[solid, BOTTOM])
    level = _level(blur + log_density)
    for row in range(first, last):
        y = eye[1] + slope[row] * distance
        texel = _texel(materials, material, level, u * density_u, (top - y) * density_v)
        edge = min(min(y, ceiling - y), _EDGE) / _EDGE
        _write(materials, material, library, texel, brightness * (0.84 + 0.16 * edge), out, row)


@compiled
def _density(materials: np.ndarray, material: int, width: float, height: float) -> tuple[float, float, float]:
    """Texels per metre along both sides of a face, and their logarithm to base 2."""
    density = materials[material, DENSITY]
    if density > 0:
        return density, density, materials[material, LOG_DENSITY]
    return SIZE / width, SIZE / height, 0.5 * math.log2(SIZE / width * SIZE / height)


@compiled
def _level(blur: float) -> int:
    """The mipmap level for pixels that cover 2**blur texels."""
    return min(LEVELS - 1, max(0, int(blur + 0.5)))


@compiled
def _texel(materials: np.ndarray, material: int, level: int, u: float, v: float) -> int:
    """Index of the level's texel at (u, v), which are in texels of full size."""
    size = SIZE >> level
    column, row = math.floor(u) >> level & size - 1, math.floor(v) >> level & size - 1
    return int(materials[material, TEXTURE_NUMBER]) * TEXELS + _START[level] + column * size + row


@compiled
def _brightness(light: np.ndarray, x: float, z: float) -> float:
    """The light map at (x, z), interpolated between the centres of patches."""
    x, z = max(x - 0.5, 0.0), max(z - 0.5, 0.0)
    column, row = min(int(x), light.shape[1] - 2), min(int(z), light.shape[0] - 2)
    right, down = x - column, z - row
    upper = light[row, column] * (1 - right) + light[row, column + 1] * right
    lower = light[row + 1, column] * (1 - right) + light[row + 1, column + 1] * right
    return upper * (1 - down) + lower * down


@compiled
def _write(
    materials: np.ndarray,
    material: int,
    library: np.ndarray,
    texel: int,
    brightness: float,
    out: np.ndarray,
    row: int,
) -> None:
    """Mix the material's colours by the texel's weights, and light them."""
    brightness = max(brightness, materials[material, GLOW])
    first, second, third = library[texel, 0], library[texel, 1], library[texel, 2]
    for part in range(3):
        colour = first * materials[material, COLOURS + part] + second * materials[material, COLOURS + 3 + part]
        out[row, part] = min(255.0, (colour + third * materials[material, COLOURS + 6 + part]) * brightness)

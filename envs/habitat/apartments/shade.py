"""What colour a visible pixel has: texture, the room's light, and darker corners."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from bonuslab.envs.habitat.apartments.geometry import (
    BAND,
    BAND_MATERIAL,
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
    SKY,
    TEXTURE_NUMBER,
    TOP,
    X,
    Z,
)
from bonuslab.envs.habitat.apartments.looks.noise import SIZE
from bonuslab.envs.habitat.apartments.looks.textures import LANE_BITS, LEVEL_START, LEVELS, TEXELS
from bonuslab.envs.habitat.apartments.raycast import FLOOR, UP
from bonuslab.envs.habitat.apartments.solids import CYLINDER, HOLED
from bonuslab.envs.habitat.compiled import compiled

_START: Final = LEVEL_START
_FAR_OFF: Final = 1 << 24
_LANE: Final = (1 << LANE_BITS) - 1
_COARSEST_STRETCHED: Final = LEVELS - 3
"""A stretched texture keeps four texels a side at least, or its edges could not be kept apart."""
_CORNER: Final = 0.35
"""Metres over which walls grow darker towards floor and ceiling."""
_ON_FLOOR, _IN_AIR = 0, 1
"""The two maps of light."""


@compiled
def shade_plane(
    frame: np.ndarray,
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
    """Colour pixels `first` to `last` - 1 of a column that show floor or ceiling."""
    material, which, share = int(frame[CEILING_MATERIAL]), _IN_AIR, 0.96
    if code == FLOOR:
        which, share = _ON_FLOOR, 1.0
    x0, z0 = eye[0] - frame[FRAME_X], eye[2] - frame[FRAME_Z]
    for row in range(first, last):
        x, z = x0 + depth[row] * dx, z0 + depth[row] * dz
        patch_x, patch_z = x / PATCH, z / PATCH
        if code == FLOOR:
            line, column = min(max(int(patch_z), 0), floor.shape[0] - 1), min(max(int(patch_x), 0), floor.shape[1] - 1)
            material = floor[line, column]
        density = materials[material, DENSITY]
        level = _level(blur[row] + materials[material, LOG_DENSITY])
        smaller = density / (1 << level)
        texel = _sample(library, int(materials[material, TEXTURE_NUMBER]), level, x * smaller, z * smaller)
        _write(materials, material, texel, share * _brightness(light, which, patch_x, patch_z), out, row)


@compiled
def shade_flat(
    frame: np.ndarray,
    solids: np.ndarray,
    materials: np.ndarray,
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
    """The same for the top or the underside of a solid."""
    solid, face = code // 8, code % 8
    material = int(solids[solid, FACES + face])
    texture, stretched = int(materials[material, TEXTURE_NUMBER]), materials[material, DENSITY] == 0.0
    cos, sin = solids[solid, COS], solids[solid, SIN]
    half_x, half_z = solids[solid, HALF_X], solids[solid, HALF_Z]
    density_x = SIZE / (2 * half_x) if stretched else materials[material, DENSITY]
    density_z = SIZE / (2 * half_z) if stretched else materials[material, DENSITY]
    finer, coarsest = 0.5 * math.log2(density_x * density_z), _COARSEST_STRETCHED if stretched else LEVELS - 1
    # What lies flat takes the floor's light, with its shadows and patches of sun.
    which = _ON_FLOOR if face == UP and solids[solid, TOP] < 0.1 else _IN_AIR
    share = (1.0 if which == _ON_FLOOR else 1.06) if face == UP else 0.62
    for row in range(first, last):
        x, z = eye[0] + depth[row] * dx, eye[2] + depth[row] * dz
        brightness = share * _brightness(light, which, (x - frame[FRAME_X]) / PATCH, (z - frame[FRAME_Z]) / PATCH)
        away_x, away_z = x - solids[solid, X], z - solids[solid, Z]
        level = min(_level(blur[row] + finer), coarsest)
        u = (cos * away_x - sin * away_z + half_x) * density_x / (1 << level)
        v = (sin * away_x + cos * away_z + half_z) * density_z / (1 << level)
        if stretched:
            u, v = _inside(u, level), _inside(v, level)
        texel = _sample(library, texture, level, u, v)
        _write(materials, material, texel, brightness, out, row)


@compiled
def shade_upright(
    frame: np.ndarray,
    solids: np.ndarray,
    materials: np.ndarray,
    light: np.ndarray,
    library: np.ndarray,
    skies: np.ndarray,
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
    """The same for a side of a solid: all these pixels lie at one distance, so most is worked out once."""
    solid, face = code // 8, code % 8
    material = int(solids[solid, FACES + face])
    if materials[material, SKY] >= 0:
        _shade_sky(skies, int(materials[material, SKY]), dx, dz, slope, first, last, out)
        return
    cos, sin = solids[solid, COS], solids[solid, SIN]
    half_x, half_z = solids[solid, HALF_X], solids[solid, HALF_Z]
    x, z = eye[0] + distance * dx, eye[2] + distance * dz
    away_x, away_z = x - solids[solid, X], z - solids[solid, Z]
    lx, lz = cos * away_x - sin * away_z, sin * away_x + cos * away_z
    flags = int(solids[solid, FLAGS])
    if flags & CYLINDER:
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
    brightness = _brightness(light, _IN_AIR, patch_x, patch_z) * (0.88 + 0.12 * (nx * frame[KEY_X] + nz * frame[KEY_Z]))
    slant = max(0.08, abs(nx * dx + nz * dz) / math.sqrt(dx * dx + dz * dz))
    spread = math.log2(2.0 * distance / slope.shape[0]) - 0.5 * math.log2(slant)
    top, ceiling = solids[solid, TOP], frame[CEILING_HEIGHT]
    height = top - solids[solid, BOTTOM]
    # Above the band the material itself, below it another: two stretches of the column, each of one material.
    change = last
    if materials[material, BAND] > 0:
        edge = (slope.shape[0] - 1) / 2 - (materials[material, BAND] - eye[1]) / distance * (slope.shape[0] / 2)
        change = min(last, max(first, math.ceil(edge)))
    for part in range(2):
        start, end = (first, change) if part == 0 else (change, last)
        shown = material if part == 0 else int(materials[material, BAND_MATERIAL])
        texture, density = int(materials[shown, TEXTURE_NUMBER]), materials[shown, DENSITY]
        stretched, level = density == 0.0, _level(spread + materials[shown, LOG_DENSITY])
        across, down, above = u * density / (1 << level), -density / (1 << level), 0.0
        if stretched:
            level = _level(spread + 0.5 * math.log2(SIZE / width * SIZE / height))
            level = 0 if flags & HOLED else min(level, _COARSEST_STRETCHED)
            across, down, above = _inside(u / width * (SIZE >> level), level), -(SIZE >> level) / height, top
        for row in range(start, end):
            y = eye[1] + slope[row] * distance
            v = (y - above) * down
            texel = _sample(library, texture, level, across, _inside(v, level) if stretched else v)
            if flags & HOLED:  # texels at the edge of a hole are mixed with nothing
                whole = 255.0 / max(40.0, texel[0] + texel[1] + texel[2])
                texel = (texel[0] * whole, texel[1] * whole, texel[2] * whole)
            corner = min(min(y, ceiling - y), _CORNER) / _CORNER
            _write(materials, shown, texel, brightness * (0.84 + 0.16 * corner), out, row)


@compiled
def _shade_sky(
    skies: np.ndarray, number: int, dx: float, dz: float, slope: np.ndarray, first: int, last: int, out: np.ndarray
) -> None:
    """Far away: only the direction counts."""
    height, width = skies.shape[1], skies.shape[2]
    column = int((math.atan2(dx, dz) / (2 * math.pi) + 0.5) * width) % width
    flatter = 1.0 / math.sqrt(dx * dx + dz * dz)
    for row in range(first, last):
        line = min(height - 1, max(0, int((1.0 - slope[row] * flatter) * 0.5 * height)))
        for part in range(3):
            out[row, part] = skies[number, line, column, part]


@compiled
def _level(blur: float) -> int:
    """Which smaller copy of a texture to use when a pixel covers 2**blur texels."""
    return min(LEVELS - 1, max(0, int(blur + 0.3)))


@compiled
def _brightness(light: np.ndarray, which: int, x: float, z: float) -> float:
    """A map of light between the centres of its patches."""
    x, z = max(x - 0.5, 0.0), max(z - 0.5, 0.0)
    column, row = min(int(x), light.shape[2] - 2), min(int(z), light.shape[1] - 2)
    right, down = x - column, z - row
    upper = light[which, row, column] * (1 - right) + light[which, row, column + 1] * right
    lower = light[which, row + 1, column] * (1 - right) + light[which, row + 1, column + 1] * right
    return upper * (1 - down) + lower * down


@compiled
def _sample(library: np.ndarray, texture: int, level: int, u: float, v: float) -> tuple[float, float, float]:
    """A texture's three weights, 0 to 255, at (u, v) in texels of this level, between the centres of texels."""
    size = SIZE >> level
    base = texture * TEXELS + _START[level]
    u, v = u + (_FAR_OFF - 0.5), v + (_FAR_OFF - 0.5)  # so far to the right that cutting off decimals rounds down
    column, row = int(u), int(v)
    right, down = u - column, v - row
    left, beside = base + (column & (size - 1)) * size, base + ((column + 1) & (size - 1)) * size
    above, below = row & (size - 1), (row + 1) & (size - 1)
    x, z = int(right * 32), int(down * 32)
    # One product weighs all three parts of a texel. Indices are unsigned, because signed ones may count from the end.
    total = np.int64(library[np.uint64(left + above)]) * ((32 - x) * (32 - z))
    total += np.int64(library[np.uint64(beside + above)]) * (x * (32 - z))
    total += np.int64(library[np.uint64(left + below)]) * ((32 - x) * z)
    total += np.int64(library[np.uint64(beside + below)]) * (x * z)
    first, second, third = total & _LANE, total >> LANE_BITS & _LANE, total >> 2 * LANE_BITS
    return float(first) / 1024, float(second) / 1024, float(third) / 1024


@compiled
def _inside(place: float, level: int) -> float:
    """A coordinate of a texture that does not repeat, kept away from the edge where the other side would mix in."""
    return min(max(place, 0.5), (SIZE >> level) - 0.501)


@compiled
def _write(
    materials: np.ndarray,
    material: int,
    texel: tuple[float, float, float],
    brightness: float,
    out: np.ndarray,
    row: int,
) -> None:
    """Mix the material's colours and light them."""
    brightness = max(brightness, materials[material, GLOW])
    for part in range(3):
        colour = texel[0] * materials[material, COLOURS + part]
        colour += (
            texel[1] * materials[material, COLOURS + 3 + part] + texel[2] * materials[material, COLOURS + 6 + part]
        )
        out[row, part] = min(255.0, colour * brightness)

"""An apartment from above without its ceiling, for people."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw

from bonuslab.envs.habitat.apartments.geometry import (
    BOTTOM,
    COLOURS,
    COS,
    DENSITY,
    FACES,
    FLAGS,
    FRAME_X,
    FRAME_Z,
    HALF_X,
    HALF_Z,
    PATCH,
    SIN,
    TEXTURE_NUMBER,
    TOP,
    X,
    Z,
)
from bonuslab.envs.habitat.apartments.looks.noise import SIZE
from bonuslab.envs.habitat.apartments.looks.textures import LANE_BITS, LEVEL_START, TEXELS, textures
from bonuslab.envs.habitat.apartments.plan import Rectangle
from bonuslab.envs.habitat.apartments.raycast import UP
from bonuslab.envs.habitat.apartments.scene import Apartment
from bonuslab.envs.habitat.apartments.solids import CYLINDER, HOLED, WALL

WALL_COLOUR = (58, 60, 66)
_OUTSIDE_COLOUR = (24, 24, 28)
_HIGHEST = 2.1
"""Metres: lamps and what else hangs higher is left out."""
_LEVEL = 2
"""Of the floor's textures: about three centimetres a texel, which is what a picture shows."""


def bird_view(apartment: Apartment, pixels_per_metre: int = 40) -> np.ndarray:
    """[H, W, 3]: floors and furniture in their colours, walls dark, to the extent of the navigable map."""
    bounds, scale = apartment.plan.bounds, pixels_per_metre
    picture = Image.fromarray(_floors(apartment, scale))
    draw = ImageDraw.Draw(picture)
    colours = _mean_colours(apartment.geometry.materials)
    for solid in sorted(apartment.geometry.solids.tolist(), key=lambda each: each[TOP]):
        flags = int(solid[FLAGS])
        if flags & HOLED or solid[BOTTOM] > _HIGHEST - 0.6 or (solid[TOP] > _HIGHEST and not flags & WALL):
            continue
        colour = WALL_COLOUR if flags & WALL else colours[int(solid[FACES + UP])]
        edge = tuple(int(part * 0.7) for part in colour)
        x, z = (solid[X] - bounds.x0) * scale, (solid[Z] - bounds.z0) * scale
        a, b, cos, sin = solid[HALF_X] * scale, solid[HALF_Z] * scale, solid[COS], solid[SIN]
        if flags & CYLINDER:
            draw.ellipse([x - a, z - a, x + a, z + a], fill=colour, outline=edge)
        else:
            corners = [(x + cos * u + sin * v, z - sin * u + cos * v) for u, v in ((-a, -b), (a, -b), (a, b), (-a, b))]
            draw.polygon(corners, fill=colour, outline=None if flags & WALL else edge)
    return np.asarray(picture)


def _floors(apartment: Apartment, scale: int) -> np.ndarray:
    """Bare floors with their light."""
    geometry, bounds = apartment.geometry, apartment.plan.bounds
    z, x = np.mgrid[0 : round(bounds.depth * scale), 0 : round(bounds.width * scale)] / scale
    patch = (
        ((z + bounds.z0 - geometry.frame[FRAME_Z]) / PATCH).astype(int),
        ((x + bounds.x0 - geometry.frame[FRAME_X]) / PATCH).astype(int),
    )
    material = geometry.floor[patch]
    density = geometry.materials[material, DENSITY] / (1 << _LEVEL)
    size = SIZE >> _LEVEL
    column, row = (x * density).astype(int) % size, (z * density).astype(int) % size
    weights = _weights(
        geometry.materials[material, TEXTURE_NUMBER].astype(int), LEVEL_START[_LEVEL] + column * size + row
    )
    colours = geometry.materials[material][..., COLOURS:].reshape(*material.shape, 3, 3)
    shown = np.einsum("zxw,zxwc->zxc", weights, colours) * (0.25 + geometry.light[0][patch][..., None])
    outside = np.ones(material.shape, np.bool_)
    for room in apartment.plan.rooms:
        outside[_pixels(room, bounds, scale)] = False
    shown[outside] = _OUTSIDE_COLOUR
    return np.clip(shown, 0, 255).astype(np.uint8)


def _pixels(room: Rectangle, bounds: Rectangle, scale: int) -> tuple[slice, slice]:
    z0, z1 = (round((edge - bounds.z0) * scale) for edge in (room.z0, room.z1))
    x0, x1 = (round((edge - bounds.x0) * scale) for edge in (room.x0, room.x1))
    return slice(z0, z1), slice(x0, x1)


def _weights(texture: np.ndarray, texel: np.ndarray) -> np.ndarray:
    """[..., 3]: a texture's weights of a material's three colours, 0 to 255."""
    packed = textures()[texture * TEXELS + texel].astype(np.int64)
    return np.stack([packed >> env_index * LANE_BITS & 255 for env_index in range(3)], axis=-1)


def _mean_colours(materials: np.ndarray) -> list[tuple[int, int, int]]:
    """What each material looks like from far away: the last level of a texture is one texel."""
    numbers = materials[:, TEXTURE_NUMBER].astype(int)
    weights = _weights(numbers, np.full(len(numbers), LEVEL_START[-1]))
    mixed = np.einsum("mw,mwc->mc", weights, materials[:, COLOURS:].reshape(-1, 3, 3))
    return [(red, green, blue) for red, green, blue in np.clip(mixed, 0, 255).astype(int).tolist()]

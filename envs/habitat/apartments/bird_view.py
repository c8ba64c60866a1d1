"""An apartment from above without its ceiling."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw

from bonuslab.envs.habitat.apartments.geometry import (
    BOTTOM,
    COLOURS,
    COS,
    FACES,
    FLAGS,
    HALF_X,
    HALF_Z,
    MARGIN,
    PATCH,
    SIN,
    TEXTURE_NUMBER,
    TOP,
    X,
    Z,
)
from bonuslab.envs.habitat.apartments.raycast import UP
from bonuslab.envs.habitat.apartments.scene import Apartment
from bonuslab.envs.habitat.apartments.solids import CYLINDER, WALL
from bonuslab.envs.habitat.apartments.textures import LEVEL_START, TEXELS, textures

WALL_COLOUR = (58, 60, 66)
_OUTSIDE_COLOUR = (24, 24, 28)
_HIGHEST = 2.1
"""Metres: lamps and other things that hang higher are left out."""


def bird_view(apartment: Apartment, pixels_per_metre: int = 40) -> np.ndarray:
    """[H, W, 3]: floors and furniture in their colours, walls dark, to the extent of the navigable map."""
    bounds, geometry, scale = apartment.plan.bounds, apartment.geometry, pixels_per_metre
    colours = _mean_colours(geometry.materials)
    z, x = (np.arange(round(side * scale)) / scale + MARGIN for side in (bounds.depth, bounds.width))
    patches = np.ix_((z / PATCH).astype(int), (x / PATCH).astype(int))
    floors = colours[geometry.floor[patches]] * (0.25 + geometry.light[patches][..., None])
    floors[geometry.floor[patches] < 0] = _OUTSIDE_COLOUR
    picture = Image.fromarray(np.clip(floors, 0, 255).astype(np.uint8))
    draw = ImageDraw.Draw(picture)
    for solid in sorted(geometry.solids.tolist(), key=lambda each: each[TOP]):
        flags = int(solid[FLAGS])
        if solid[BOTTOM] > _HIGHEST - 0.6 or (solid[TOP] > _HIGHEST and not flags & WALL):
            continue
        colour = WALL_COLOUR if flags & WALL else tuple(colours[int(solid[FACES + UP])].astype(int).tolist())
        edge = tuple(int(part * 0.7) for part in colour)
        u0, v0 = (solid[X] - bounds.x0) * scale, (solid[Z] - bounds.z0) * scale
        a, b, cos, sin = solid[HALF_X] * scale, solid[HALF_Z] * scale, solid[COS], solid[SIN]
        if flags & CYLINDER:
            draw.ellipse([u0 - a, v0 - a, u0 + a, v0 + a], fill=colour, outline=edge)
        else:
            offsets = ((-a, -b), (a, -b), (a, b), (-a, b))
            corners = [(u0 + cos * u + sin * v, v0 - sin * u + cos * v) for u, v in offsets]
            draw.polygon(corners, fill=colour, outline=None if flags & WALL else edge)
    return np.asarray(picture)


def _mean_colours(materials: np.ndarray) -> np.ndarray:
    """[M, 3]: each material from far away, which is its texture's last mipmap level."""
    weights = textures()[materials[:, TEXTURE_NUMBER].astype(int) * TEXELS + LEVEL_START[-1]].astype(float)
    return np.clip(np.einsum("mw,mwc->mc", weights, materials[:, COLOURS:].reshape(-1, 3, 3)), 0, 255)

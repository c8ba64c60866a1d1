"""All textures in one array with their smaller copies, so that distant surfaces do not flicker."""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np

from bonuslab.envs.habitat.apartments.looks.noise import SIZE
from bonuslab.envs.habitat.apartments.looks.patterns import PATTERNS
from bonuslab.envs.habitat.apartments.looks.pictures import PAINTINGS, PICTURES

_ALL = {**PATTERNS, **PICTURES, **PAINTINGS}
TEXTURE: Final = {name: number for number, name in enumerate(_ALL)}
"""Number of each texture."""
LEVELS: Final = SIZE.bit_length()
"""Full size, half, quarter, ... down to one texel."""
LEVEL_START: Final = tuple(sum((SIZE >> k) ** 2 for k in range(level)) for level in range(LEVELS))
"""Where each level's texels begin."""

TEXELS: Final = LEVEL_START[-1] + 1
"""Of one texture with all its levels."""
LANE_BITS: Final = 20
"""A texel's three weights stand so far apart in one number that it can be multiplied by up to 1,024 as it is."""


@cache
def textures() -> np.ndarray:
    """[texture times texel of any level] uint64: how much of each of a material's three colours a texel has, 0 to 255.

    Texels that lie above each other are neighbours in memory, because images are drawn by columns.
    """
    made = np.zeros((len(_ALL), TEXELS), np.uint64)
    envs = np.array([1, 1 << LANE_BITS, 1 << 2 * LANE_BITS], np.uint64)
    for number, draw in enumerate(_ALL.values()):
        picture = draw(np.random.Generator(np.random.PCG64([5, number]))).swapaxes(0, 1)
        for level, start in enumerate(LEVEL_START):
            weights = np.rint(picture.clip(0, 1) * 255).astype(np.uint64).reshape(-1, 3)
            made[number, start : start + len(weights)] = weights @ envs
            if level + 1 < LEVELS:
                half = picture.shape[0] // 2
                picture = picture.reshape(half, 2, half, 2, 3).mean((1, 3))
    return made.reshape(-1)

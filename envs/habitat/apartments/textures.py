"""Textures as mipmaps in one array. A texel holds the weights of a material's three colours."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Final

import numpy as np

SIZE: Final = 128
"""Texels per side at full resolution."""
LEVELS: Final = SIZE.bit_length()
"""Mipmap levels: full size, half, quarter, ... down to one texel."""
LEVEL_START: Final = tuple(sum((SIZE >> k) ** 2 for k in range(level)) for level in range(LEVELS))
"""Offset of each level's first texel."""
TEXELS: Final = LEVEL_START[-1] + 1
"""Texels per texture, all levels."""


def _noise(rng: np.random.Generator, roughness: float = 0.5, stretch: float = 1.0) -> np.ndarray:
    """[SIZE, SIZE] in [0, 1], tileable: amplitude falls as frequency**-(1 + roughness); `stretch` > 1 gives fibres."""
    frequency = np.hypot(np.fft.fftfreq(SIZE)[:, None], np.fft.rfftfreq(SIZE)[None, :] * stretch)
    frequency[0, 0] = np.inf
    spectrum = np.fft.rfft2(rng.standard_normal((SIZE, SIZE))) * frequency ** -(1.0 + roughness)
    field = np.fft.irfft2(spectrum, (SIZE, SIZE))
    return np.clip(0.5 + field / (5.0 * field.std()), 0.0, 1.0)


def _mix(second: np.ndarray, third: np.ndarray | float = 0.0) -> np.ndarray:
    """[SIZE, SIZE, 3]: weights of the three colours; the first takes what the others leave."""
    second, third = np.broadcast_arrays(np.clip(second, 0, 1), np.clip(third, 0, 1))
    return np.stack([(1 - second) * (1 - third), second * (1 - third), third], axis=-1)


def _cells(rows: int, columns: int, shift: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A grid over the texture: row and column of each texel's cell, and its offset in the cell from 0 to 1.

    `shift` moves every other row sideways by this fraction of a cell.
    """
    v, u = (np.mgrid[0:SIZE, 0:SIZE] + 0.5) / SIZE
    row = (v * rows).astype(int)
    across = u * columns + shift * (row % 2)
    return row, across.astype(int) % columns, v * rows % 1, across % 1


def _grain(rng: np.random.Generator, strength: float, roughness: float, stretch: float = 1.0) -> np.ndarray:
    """Plaster, wood and cloth: nothing but noise."""
    return _mix(strength * _noise(rng, roughness, stretch))


def _blocks(rng: np.random.Generator, rows: int, columns: int, shift: float, stretch: float = 1.0) -> np.ndarray:
    """Tiles, bricks or boards of varying tone, with joints two texels wide."""
    row, column, down, across = _cells(rows, columns, shift)
    joint = (down < 2 * rows / SIZE) | (across < 2 * columns / SIZE)
    return _mix(0.5 * rng.random((rows, columns))[row, column] + 0.5 * _noise(rng, stretch=stretch), 0.7 * joint)


def _patchwork(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Each cell is a random mix of the three colours: book spines, quilts, rugs, paintings."""
    row, column, *_ = _cells(rows, columns)
    return rng.dirichlet((0.4, 0.4, 0.4), (rows, columns))[row, column]


def _checker(rng: np.random.Generator) -> np.ndarray:
    row, column, *_ = _cells(4, 4)
    return _mix(0.9 * ((row + column) % 2) + 0.1 * _noise(rng))


def _stripes(rng: np.random.Generator) -> np.ndarray:
    _, column, *_ = _cells(1, 8)
    return _mix(column % 2 + 0.1 * _noise(rng), 0.6 * (column == 3))


def _panels(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Doors or drawers: each panel has a dark outline and a handle."""
    _, _, down, across = _cells(rows, columns)
    edge = np.minimum(np.minimum(down, 1 - down) / rows, np.minimum(across, 1 - across) / columns)
    handle = (abs(down - 0.5) < 0.06) & (abs(across - 0.5) < 0.16)
    return _mix(0.4 * _noise(rng, stretch=8.0), 0.8 * (((edge > 0.01) & (edge < 0.03)) | handle))


def _window(rng: np.random.Generator) -> np.ndarray:
    """Sky above a hilly horizon, behind a frame with two panes."""
    _, _, down, across = _cells(1, 2)
    horizon = 0.55 + 0.4 * (_noise(rng, 1.0)[0] - 0.5)
    frame = (np.minimum(down, 1 - down) < 0.04) | (np.minimum(across, 1 - across) < 0.06)
    return _mix(np.where(down > horizon, 0.8 + 0.2 * down, 0.3 * down), frame)


_TEXTURES: Final[dict[str, Callable[[np.random.Generator], np.ndarray]]] = {
    "plaster": partial(_grain, strength=1.0, roughness=0.5),
    "wood": partial(_grain, strength=1.0, roughness=0.4, stretch=10.0),
    "cloth": partial(_grain, strength=0.9, roughness=-0.3),
    "planks": partial(_blocks, rows=8, columns=2, shift=0.5, stretch=9.0),
    "tiles": partial(_blocks, rows=4, columns=4, shift=0.0),
    "mosaic": partial(_blocks, rows=16, columns=16, shift=0.0),
    "brick": partial(_blocks, rows=8, columns=4, shift=0.5),
    "checker": _checker,
    "stripes": _stripes,
    "quilt": partial(_patchwork, rows=8, columns=8),
    "books": partial(_patchwork, rows=4, columns=32),
    "painting": partial(_patchwork, rows=3, columns=4),
    "doors": partial(_panels, rows=1, columns=2),
    "drawers": partial(_panels, rows=3, columns=1),
    "window": _window,
}
TEXTURE: Final = {name: number for number, name in enumerate(_TEXTURES)}
"""Index of each texture."""


@cache
def textures() -> np.ndarray:
    """[texture * TEXELS + texel, 3] uint8. Texels above each other are adjacent, since images are drawn by column."""
    made = np.empty((len(_TEXTURES), TEXELS, 3), np.uint8)
    for number, draw in enumerate(_TEXTURES.values()):
        image = draw(np.random.Generator(np.random.PCG64([5, number]))).swapaxes(0, 1)
        for level, start in enumerate(LEVEL_START):
            size = SIZE >> level
            image = image if level == 0 else image.reshape(size, 2, size, 2, 3).mean((1, 3))
            made[number, start : start + size * size] = np.rint(image * 255).reshape(-1, 3)
    return made.reshape(-1, 3)

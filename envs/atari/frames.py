"""From the emulator's screen to the agent's observation: the last four frames, 84 × 84 and greyscale.

Bit for bit the same as ALE's `AtariVectorEnv`: the per-pixel maximum of the last two screens (sprites flicker), then
the mean over the area that each of the 84 × 84 cells covers, summed in the order of OpenCV's `INTER_AREA`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numba
import numpy as np

FRAME: Final = 84
"""Rows and columns of a frame (paper, table: Image Height, Image Width)."""
STACK: Final = 4
"""Frames in an observation, oldest first (paper, table: Frame Stack)."""
_MAX_COVERED = 4  # pixels that a cell covers, wholly or partly: 3, or 4 of more than 210 rows


@lru_cache(maxsize=8)
def _cover(pixels: int) -> tuple[np.ndarray, np.ndarray]:
    """Pixels [84, 4] that each cell covers, and their weights [84, 4] in its mean; unused weights are 0."""
    size = pixels / FRAME
    index = np.zeros((FRAME, _MAX_COVERED), np.int64)
    weight = np.zeros((FRAME, _MAX_COVERED), np.float32)
    for cell in range(FRAME):
        begin, end = cell * size, (cell + 1) * size
        covered = [(pixel, min(end, pixel + 1) - max(begin, pixel)) for pixel in range(int(begin), pixels)]
        covered = [(pixel, length) for pixel, length in covered if length > 1e-9]
        index[cell, : len(covered)] = [pixel for pixel, _ in covered]
        weight[cell, : len(covered)] = [length / size for _, length in covered]
    return index, weight


@numba.njit(cache=True, nogil=True)
def _shrink(
    before: np.ndarray,
    last: np.ndarray,
    row: np.ndarray,
    row_weight: np.ndarray,
    column: np.ndarray,
    column_weight: np.ndarray,
    out: np.ndarray,
) -> None:
    height, width = before.shape
    size = out.shape[0]
    line = np.empty(width, np.float32)
    narrow = np.empty((height, size), np.float32)
    for y in range(height):
        for x in range(width):
            line[x] = max(before[y, x], last[y, x])
        for x in range(size):
            mean = line[column[x, 0]] * column_weight[x, 0]
            mean += line[column[x, 1]] * column_weight[x, 1]
            narrow[y, x] = mean + line[column[x, 2]] * column_weight[x, 2]  # 160 pixels: never 4
    for y in range(size):
        first, second, third, fourth = narrow[row[y, 0]], narrow[row[y, 1]], narrow[row[y, 2]], narrow[row[y, 3]]
        for x in range(size):
            mean = first[x] * row_weight[y, 0] + second[x] * row_weight[y, 1]
            mean += third[x] * row_weight[y, 2]
            out[y, x] = np.uint8(np.rint(mean + fourth[x] * row_weight[y, 3]))


def shrink(before: np.ndarray, last: np.ndarray, out: np.ndarray) -> None:
    """Write the frame [84, 84] of two greyscale screens, such as [210, 160], into `out`."""
    height, width = before.shape
    _shrink(before, last, *_cover(height), *_cover(width), out)

"""From the emulator's screen to what the agent sees: 84 × 84 grey pictures, the last four of them.

The same numbers as ALE's own `AtariVectorEnv`, to the last bit: the brighter of the last two screens at each pixel
(sprites flicker), then the mean over the area that each of the 84 × 84 cells covers, in the order of additions of
OpenCV's `INTER_AREA`.
"""

from __future__ import annotations

from typing import Final

import numba
import numpy as np

SCREEN: Final = (210, 160)
"""Rows and columns of the emulator's screen."""
FRAME: Final = 84
"""Rows and columns of a frame (paper, table: Image Height, Image Width)."""
STACK: Final = 4
"""Frames in an observation, the oldest first (paper, table: Frame Stack)."""
_MOST = 3  # pixels that a cell covers, in whole or in part, in either direction


def _cover(pixels: int) -> tuple[np.ndarray, np.ndarray]:
    """Of each cell the pixels [84, 3] it covers and the share [84, 3] of each in its mean; unused shares are 0."""
    size = pixels / FRAME
    index = np.zeros((FRAME, _MOST), np.int64)
    share = np.zeros((FRAME, _MOST), np.float32)
    for cell in range(FRAME):
        begin, end = cell * size, (cell + 1) * size
        covered = [(pixel, min(end, pixel + 1) - max(begin, pixel)) for pixel in range(int(begin), pixels)]
        covered = [(pixel, length) for pixel, length in covered if length > 1e-9]
        index[cell, : len(covered)] = [pixel for pixel, _ in covered]
        share[cell, : len(covered)] = [length / size for _, length in covered]
    return index, share


_ROW, _ROW_SHARE = _cover(SCREEN[0])
_COLUMN, _COLUMN_SHARE = _cover(SCREEN[1])


@numba.njit(cache=True, nogil=True)
def _shrink(
    before: np.ndarray,
    last: np.ndarray,
    row: np.ndarray,
    row_share: np.ndarray,
    column: np.ndarray,
    column_share: np.ndarray,
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
            mean = line[column[x, 0]] * column_share[x, 0]
            mean += line[column[x, 1]] * column_share[x, 1]
            narrow[y, x] = mean + line[column[x, 2]] * column_share[x, 2]
    for y in range(size):
        first, second, third = narrow[row[y, 0]], narrow[row[y, 1]], narrow[row[y, 2]]
        for x in range(size):
            mean = first[x] * row_share[y, 0] + second[x] * row_share[y, 1]
            out[y, x] = np.uint8(np.rint(mean + third[x] * row_share[y, 2]))


def shrink(before: np.ndarray, last: np.ndarray, out: np.ndarray) -> None:
    """Write the frame [84, 84] of two grey screens [210, 160] into `out`."""
    _shrink(before, last, _ROW, _ROW_SHARE, _COLUMN, _COLUMN_SHARE, out)

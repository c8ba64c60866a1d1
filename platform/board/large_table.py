"""A progress.csv that is too large to keep, summarised in one pass: mean, minimum and maximum of groups of rows."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from bonuslab.platform.run.rows import number

LARGE_BYTES = 16 << 20
"""Smaller tables are kept row by row."""
BLOCK_BYTES = 1 << 20
GROUPS_PER_BLOCK = 16

Group = tuple[np.ndarray, np.ndarray, np.ndarray]
"""[groups] each: mean, minimum and maximum of the values that are there."""


class _Complete(io.RawIOBase):
    """A file up to the end of its last complete line."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        size = os.fstat(file.fileno()).st_size
        end = os.pread(file.fileno(), BLOCK_BYTES, max(0, size - BLOCK_BYTES)).rfind(b"\n") + 1
        self._left = max(0, size - BLOCK_BYTES) + end

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(data)
        return data


def is_large(path: Path) -> bool:
    """Whether a table should be summarised."""
    try:
        return path.stat().st_size > LARGE_BYTES
    except OSError:
        return False


def summarised(path: Path, columns: list[str], intact: bool) -> Iterator[tuple[int, dict[str, Group]]]:
    """The number of rows and the groups of each column, block by block; lines of another length are skipped.

    An `intact` table has numbers only, or else this raises a ValueError; any other takes longer.
    """
    import pyarrow as pa
    from pyarrow import csv

    with path.open("rb") as file:
        reader = csv.open_csv(
            _Complete(file),
            csv.ReadOptions(block_size=BLOCK_BYTES),
            csv.ParseOptions(invalid_row_handler=lambda row: "skip"),
            csv.ConvertOptions(column_types=dict.fromkeys(columns, pa.float64() if intact else pa.binary())),
        )
        for block in reader:
            count = block.num_rows
            starts = np.unique(np.linspace(0, count, min(GROUPS_PER_BLOCK, count), endpoint=False).astype(int))
            yield (
                count,
                {
                    name: groups(cells.to_numpy(zero_copy_only=False) if intact else _numbers(cells), starts)
                    for name, cells in zip(block.schema.names, block.columns, strict=True)
                },
            )


def _numbers(cells: Any) -> np.ndarray:
    return np.array([number((cell or b"").decode(errors="replace")) for cell in cells.to_pylist()])


def groups(values: np.ndarray, starts: np.ndarray) -> Group:
    """Mean, minimum and maximum of the values from each start to the next; NaN where there are none."""
    there = ~np.isnan(values)
    sums = np.add.reduceat(np.where(there, values, 0.0), starts)
    with np.errstate(invalid="ignore"):
        means = sums / np.add.reduceat(there.astype(float), starts)
    return means, np.fmin.reduceat(values, starts), np.fmax.reduceat(values, starts)

"""The curves of one trial, with no more points than a small chart can show."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Any

import numpy as np

from bonuslab.platform.board.columns import arranged
from bonuslab.platform.run.growing_table import GrowingTable, number
from bonuslab.platform.run.progress_table import STEPS

POINTS = 200
"""Most points of a curve; further rows are joined in equal groups."""
MISSING = float("nan")


class Curves:
    """All columns of a progress.csv, kept and extended as it grows."""

    def __init__(self, path: Path) -> None:
        self._table = GrowingTable(path)
        self._values: dict[str, array[float]] = {}

    def refresh(self) -> None:
        """Read what has been appended."""
        rows, anew = self._table.read()
        if anew:
            self._values = {name: array("d") for name in self._table.columns}
        for row in rows:
            for name, cell in zip(self._table.columns, row, strict=True):
                value = number(cell)
                self._values[name].append(MISSING if value is None else value)

    def as_data(self, metric: str, points: int = POINTS) -> dict[str, Any]:
        """Steps, and for every column that has a number: mean, lowest and highest of each point, and the last number.

        Lowest and highest are left out where every point is one row.
        """
        steps = np.frombuffer(self._values.get(STEPS, array("d")))
        if not len(steps):
            return {"rows": 0, "steps": [], "columns": []}
        starts = np.unique(np.linspace(0, len(steps), min(points, len(steps)), endpoint=False).astype(int))
        joined = len(starts) < len(steps)
        columns = []
        for column in arranged(self._table.columns, metric):
            values = np.frombuffer(self._values[column.name])
            there = ~np.isnan(values)
            if not there.any():
                continue
            drawn = {"mean": _plain(_means(values, starts)), "last": _plain(values[there][-1:])[0]}
            if joined:
                drawn |= {
                    "low": _plain(np.fmin.reduceat(values, starts)),
                    "high": _plain(np.fmax.reduceat(values, starts)),
                }
            columns.append(column._asdict() | drawn)
        return {"rows": len(steps), "steps": _plain(_means(steps, starts), 9), "columns": columns}


def _means(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Mean of the numbers in each group; NaN where it has none."""
    there = ~np.isnan(values)
    sums = np.add.reduceat(np.where(there, values, 0.0), starts)
    with np.errstate(invalid="ignore"):
        return sums / np.add.reduceat(there.astype(float), starts)


def _plain(values: np.ndarray, digits: int = 4) -> list[float | None]:
    return [None if value != value else float(f"{value:.{digits}g}") for value in values.tolist()]

"""The curves of one trial, with no more points than a small chart can show."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Any

import numpy as np

from bonuslab.algorithms.rllib.metrics import BOARD, RESULTS, find, rank
from bonuslab.platform.run.rows import STEPS, RowReader, number

POINTS = 200
"""Most points of a curve; more rows are averaged in equal groups."""


class Curves:
    """All columns of a progress.csv, kept and extended as it grows."""

    def __init__(self, path: Path) -> None:
        self._reader = RowReader(path)
        self._values: dict[str, array[float]] = {}

    def refresh(self) -> None:
        """Read what has been appended."""
        rows, anew = self._reader.read()
        if anew:
            self._values = {name: array("d") for name in self._reader.columns}
        for row in rows:
            for name, cell in zip(self._reader.columns, row, strict=True):
                self._values[name].append(number(cell))

    def as_data(self, metric: str, points: int = POINTS) -> dict[str, Any]:
        """Steps, and for each column with a value: mean, minimum and maximum of each point, and the last value.

        Minimum and maximum are left out where every point is one row.
        """
        steps = np.frombuffer(self._values.get(STEPS, array("d")))
        if not len(steps):
            return {"rows": 0, "steps": [], "columns": []}
        starts = np.unique(np.linspace(0, len(steps), min(points, len(steps)), endpoint=False).astype(int))
        joined = len(starts) < len(steps)
        columns = []
        for name in arranged(self._reader.columns, metric):
            values = np.array(self._values[name])
            values[np.isinf(values)] = np.nan  # JSON has no infinity, and no chart a place for it
            there = ~np.isnan(values)
            if not there.any():
                continue
            about = find(name)
            group = RESULTS if name == metric else about.group
            drawn: dict[str, Any] = {"name": name, "group": group, "label": about.axis, "unit": about.unit}
            drawn |= {"meaning": about.meaning, "last": _plain(values[there][-1:])[0]}
            drawn["mean"] = _plain(_means(values, starts))
            if joined:
                drawn |= {
                    "low": _plain(np.fmin.reduceat(values, starts)),
                    "high": _plain(np.fmax.reduceat(values, starts)),
                }
            columns.append(drawn)
        return {"rows": len(steps), "steps": _plain(_means(steps, starts), 9), "columns": columns}


def arranged(names: list[str], metric: str) -> list[str]:
    """The columns that are drawn: the grid's metric first, then in the order of the table of metrics."""
    drawn = [name for name in dict.fromkeys(names) if name and (name == metric or BOARD in find(name).drawn)]
    return sorted(drawn, key=lambda name: (name != metric, rank(name)))


def _means(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Mean of the values in each group; NaN where it has none."""
    there = ~np.isnan(values)
    sums = np.add.reduceat(np.where(there, values, 0.0), starts)
    with np.errstate(invalid="ignore"):
        return sums / np.add.reduceat(there.astype(float), starts)


def _plain(values: np.ndarray, digits: int = 4) -> list[float | None]:
    return [None if value != value else float(f"{value:.{digits}g}") for value in values.tolist()]

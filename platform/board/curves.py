"""The curves of one trial, with no more points than a small chart can show."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Any

import numpy as np

from bonuslab.algorithms.rllib.metrics import BOARD, BONUS, LEARNING, RESULTS, find, rank
from bonuslab.platform.board.large_table import groups, is_large, summarised
from bonuslab.platform.run.results import EPISODES
from bonuslab.platform.run.rows import STEPS, RowReader, number

POINTS = 200
"""Most points of a curve; more rows are averaged in equal groups."""
RAW_BONUS = "bonus_raw/mean"
TAIL_BYTES = 1 << 16
"""What is read of a large table to follow its end from there."""
ROWS_BETWEEN_SUMMARIES = 2_000
"""A large table is summarised again after this many new rows."""


class Curves:
    """All columns of a progress.csv, kept and extended as it grows; of a large one, groups of rows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reader = RowReader(path)
        self._clear()

    def _clear(self) -> None:
        self._values: dict[str, array[float]] = {name: array("d") for name in self._reader.columns}
        self._bounds: dict[str, tuple[array[float], array[float]]] = {}
        """Minimum and maximum of each value, if values are means of several rows."""
        self._rows = self._added = 0

    def refresh(self) -> None:
        """Read what has been appended."""
        large = is_large(self._path)
        rows, anew = self._reader.read(TAIL_BYTES if large else None)
        if large and (anew or self._added > ROWS_BETWEEN_SUMMARIES):
            self._summarise()
            return
        if anew:
            self._clear()
        for row in rows:
            for name, cell in zip(self._reader.columns, row, strict=True):
                self._values[name].append(value := number(cell))
                for bound in self._bounds.get(name, ()):
                    bound.append(value)
        self._rows += len(rows)
        self._added += len(rows)

    def _summarise(self) -> None:
        """Read the table again, up to about where the reader has come."""
        try:
            self._add_groups(intact=True)
        except ValueError:  # a damaged table costs seconds, not its curves
            self._add_groups(intact=False)

    def _add_groups(self, intact: bool) -> None:
        self._clear()
        self._bounds = {name: (array("d"), array("d")) for name in self._values}
        for rows, block in summarised(self._path, self._reader.columns, intact):
            self._rows += rows
            for name, (means, lows, highs) in block.items():
                self._values[name].extend(means)
                for bound, part in zip(self._bounds[name], (lows, highs), strict=True):
                    bound.extend(part)

    @property
    def names(self) -> list[str]:
        """The columns, in the order of the file."""
        return list(self._reader.columns)

    def column(self, name: str) -> np.ndarray:
        """All values of a column, NaN where there are none; empty for an unknown one."""
        return _finite(self._values.get(name, array("d")))

    def result(self, name: str, fewest: int) -> np.ndarray:
        """A column; results of training are NaN until `fewest` episodes have ended: the first to end are often won."""
        values, episodes = self.column(name), self.column(EPISODES)
        if find(name).group == RESULTS and name != EPISODES and len(episodes):
            values[episodes < fewest] = np.nan
        return values

    def as_data(self, metric: str, points: int = POINTS, fewest: int = 0) -> dict[str, Any]:
        """Steps, and for each `result` with a value: mean, minimum and maximum of each point, and the last value.

        Left out are minimum and maximum where every point is one row, columns of a bonus that are 0 throughout, and the
        scales of a bonus that is.
        """
        steps = np.frombuffer(self._values.get(STEPS, array("d")))
        if not len(steps):
            return {"rows": 0, "steps": [], "columns": []}
        starts = np.unique(np.linspace(0, len(steps), min(points, len(steps)), endpoint=False).astype(int))
        joined = len(starts) < self._rows
        without_bonus = RAW_BONUS in self._values and not np.nan_to_num(self.result(RAW_BONUS, fewest)).any()
        columns = []
        for name in arranged(self._reader.columns, metric):
            values = self.result(name, fewest)
            there = ~np.isnan(values)
            if not there.any():
                continue
            about = find(name)
            if about.group in (BONUS, LEARNING) and not values[there].any():  # such as the parts of the bonus `none`
                continue
            if about.group == BONUS and without_bonus:
                continue
            group = RESULTS if name == metric else about.group
            drawn: dict[str, Any] = {"name": name, "group": group, "label": about.axis, "unit": about.unit}
            drawn |= {"meaning": about.meaning, "last": plain(values[there][-1:])[0]}
            drawn["mean"] = plain(groups(values, starts)[0])
            if joined:
                bounds = (_finite(bound) for bound in self._bounds.get(name, (values, values)))
                lows, highs = (np.where(there, bound, np.nan) for bound in bounds)
                drawn |= {
                    "low": plain(np.fmin.reduceat(lows, starts)),
                    "high": plain(np.fmax.reduceat(highs, starts)),
                }
            columns.append(drawn)
        return {"rows": self._rows, "steps": plain(groups(steps, starts)[0], 9), "columns": columns}


def arranged(names: list[str], metric: str) -> list[str]:
    """The columns that are drawn: the grid's metric first, then in the order of the table of metrics."""
    drawn = [name for name in dict.fromkeys(names) if name and (name == metric or BOARD in find(name).drawn)]
    return sorted(drawn, key=lambda name: (name != metric, rank(name)))


def _finite(values: array[float] | np.ndarray) -> np.ndarray:
    """A copy with NaN for infinity: JSON has none, and no chart a place for it."""
    copy = np.array(values, dtype=float)
    copy[np.isinf(copy)] = np.nan
    return copy


def plain(values: np.ndarray, digits: int = 4) -> list[float | None]:
    """Numbers for JSON; None for NaN."""
    return [None if value != value else float(f"{value:.{digits}g}") for value in values.tolist()]

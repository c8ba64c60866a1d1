"""The present values of a trial's metrics, from the end of its progress.csv."""

from __future__ import annotations

import math
from collections import deque
from pathlib import Path

from bonuslab.algorithms.rllib.metrics import RESULTS, find
from bonuslab.platform.run.results import EPISODES, LAST_SHARE
from bonuslab.platform.run.rows import STEPS, Row, RowReader, number

FIRST_READ_BYTES = 1 << 14
FIRST_READ_SHARE = 0.12
"""Of a file read for the first time: slightly more than the rows that count, since most rows are equally long."""
LONGEST_READ_BYTES = 1 << 21
"""Of a table that is read for the first time; of a larger one, its last rows stand for the last tenth."""
EVALUATION = "evaluation/"


class RecentRows:
    """Present values of a few columns. Evaluations: the last one; others: the mean over the last tenth of the steps.

    Results of training have none before `fewest` episodes have ended: the first to end are the shortest, often won.
    """

    def __init__(self, path: Path, columns: tuple[str, ...], fewest: int = 0) -> None:
        self._path = path
        self._reader = RowReader(path)
        self._columns = (STEPS, EPISODES, *columns)
        self._fewest = {name: fewest for name in columns if find(name).group == RESULTS}
        self._clear()

    def _clear(self) -> None:
        self._rows: deque[Row] = deque()
        self._last: Row = {}

    def refresh(self) -> None:
        """Read what has been appended."""
        try:
            size = self._path.stat().st_size
        except OSError:
            size = 0
        tail = min(max(FIRST_READ_BYTES, int(size * FIRST_READ_SHARE)), LONGEST_READ_BYTES)
        while True:
            rows, anew = self._reader.read(tail)
            if anew:
                self._clear()
            self._add(rows)
            if not anew or tail >= min(size, LONGEST_READ_BYTES) or self._reaches_back():
                break
            self._reader.rewind()
            tail = min(4 * tail, LONGEST_READ_BYTES)
        while self._rows and self._rows[0][STEPS] < self._rows[-1][STEPS] * (1 - LAST_SHARE):
            self._rows.popleft()

    def value(self, column: str) -> float | None:
        """The present value of one of the columns."""
        if column.startswith(EVALUATION):
            return self._last.get(column)
        fewest = self._fewest.get(column, 0)
        values = [row[column] for row in self._rows if column in row and row.get(EPISODES, math.inf) >= fewest]
        return sum(values) / len(values) if values else None

    def _add(self, rows: list[list[str]]) -> None:
        # Of some fifty columns a few are needed.
        places = [(name, self._reader.columns.index(name)) for name in self._columns if name in self._reader.columns]
        for cells in rows:
            row = {name: value for name, place in places if math.isfinite(value := number(cells[place]))}
            if STEPS in row:
                self._rows.append(row)
                self._last |= row

    def _reaches_back(self) -> bool:
        """Whether all rows that count have been read."""
        evaluations = (name for name in self._columns if name.startswith(EVALUATION) and name in self._reader.columns)
        if not self._rows or any(name not in self._last for name in evaluations):
            return False
        return self._rows[0][STEPS] <= self._rows[-1][STEPS] * (1 - LAST_SHARE)

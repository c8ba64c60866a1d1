"""How a trial does now, from the end of its progress.csv."""

from __future__ import annotations

from collections import deque
from pathlib import Path

from bonuslab.platform.run.growing_table import GrowingTable, number
from bonuslab.platform.run.progress_table import STEPS

RECENT_SHARE = 0.1
"""A training column's present value is its mean over this last share of the trial's steps, as in the report."""
FIRST_READ_BYTES = 1 << 14
FIRST_READ_SHARE = 0.12
"""Of a file met for the first time: a little more than the rows that count, since most rows are of equal length."""
EVALUATION = "evaluation/"


class RecentRows:
    """Present values of a few columns. Evaluations: the last one; others: the mean over the last tenth of the steps."""

    def __init__(self, path: Path, columns: tuple[str, ...]) -> None:
        self._path = path
        self._table = GrowingTable(path)
        self._columns = columns
        self._clear()

    def _clear(self) -> None:
        self._rows: deque[tuple[float, list[float | None]]] = deque()
        self._last: dict[str, float] = {}

    def refresh(self) -> None:
        """Read what has been appended."""
        try:
            size = self._path.stat().st_size
        except OSError:
            size = 0
        tail = max(FIRST_READ_BYTES, int(size * FIRST_READ_SHARE))
        while True:
            rows, anew = self._table.read(tail)
            if anew:
                self._clear()
            self._add(rows)
            if not anew or tail >= size or self._reaches_back():
                break
            self._table.forget()
            tail *= 4
        self._drop_old()

    def value(self, column: str) -> float | None:
        """The present value of one of the columns."""
        if column.startswith(EVALUATION):
            return self._last.get(column)
        place = self._columns.index(column)
        values = [value for _, row in self._rows if (value := row[place]) is not None]
        return sum(values) / len(values) if values else None

    def _add(self, rows: list[list[str]]) -> None:
        if STEPS not in self._table.columns:
            return
        steps_at = self._table.columns.index(STEPS)
        places = [self._table.columns.index(name) if name in self._table.columns else None for name in self._columns]
        for row in rows:
            steps = number(row[steps_at])
            if steps is None:
                continue
            values = [None if place is None else number(row[place]) for place in places]
            self._rows.append((steps, values))
            self._last |= {name: value for name, value in zip(self._columns, values, strict=True) if value is not None}

    def _reaches_back(self) -> bool:
        """Whether all rows that count are there."""
        evaluations = (name for name in self._columns if name.startswith(EVALUATION) and name in self._table.columns)
        if not self._rows or any(name not in self._last for name in evaluations):
            return False
        return self._rows[0][0] <= self._rows[-1][0] * (1 - RECENT_SHARE)

    def _drop_old(self) -> None:
        while self._rows and self._rows[0][0] < self._rows[-1][0] * (1 - RECENT_SHARE):
            self._rows.popleft()

"""The rows of a trial that a store lacks, and what identifies those it has: their content, not their steps."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from pathlib import Path

from bonuslab.platform.run.rows import STEPS, Row, RowReader, as_row, read_rows


class Delivered:
    """The first rows of a trial, identified by `text`: their number, the steps of the last one, a digest of all."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self._digest = hashlib.sha256()
        self._count = self._step = 0
        for row in rows:
            self.add(row)

    def add(self, row: Row) -> None:
        """One more row."""
        self._digest.update(json.dumps(row, sort_keys=True).encode())
        self._count, self._step = self._count + 1, int(row[STEPS])

    @property
    def text(self) -> str:
        """`rows:steps:digest`; empty without rows."""
        return f"{self._count}:{self._step}:{self._digest.hexdigest()[:24]}" if self._count else ""


class Tail:
    """The end of one progress.csv, after the rows that a store has."""

    def __init__(self, path: Path) -> None:
        self._reader = RowReader(path)
        self.rewind()

    def rewind(self) -> None:
        """Read the file from its start the next time."""
        self._reader.rewind()
        self._delivered = Delivered()
        self._waiting: list[Row] = []

    def waiting(self, delivered: str) -> list[Row] | None:
        """Rows after the `delivered` ones; None if the file no longer begins with those: the trial was rewound."""
        cells, replaced = self._reader.read()
        if replaced:
            self._delivered, self._waiting = Delivered(), []
        self._waiting += usable([as_row(self._reader.columns, line) for line in cells])
        if self._delivered.text == delivered:
            return self._waiting
        while self._waiting and self._delivered.text != delivered:
            self.sent(1)
        if self._delivered.text == delivered:
            return self._waiting
        self.rewind()
        return None

    def sent(self, rows: int) -> str:
        """The next rows are in the store; all that are there now, as `Delivered.text`."""
        for row in self._waiting[:rows]:
            self._delivered.add(row)
        del self._waiting[:rows]
        return self._delivered.text


def step_of(delivered: str) -> int:
    """The steps of the last row of a `Delivered.text`."""
    parts = delivered.split(":")
    return int(parts[1]) if len(parts) == 3 and parts[1].isdecimal() else 0


def whole_table(path: Path) -> list[Row]:
    """All rows that can be delivered."""
    return usable(read_rows(path))


def usable(rows: Iterable[Row]) -> list[Row]:
    """Without rows that a fault left without a step."""
    return [row for row in rows if math.isfinite(row.get(STEPS, math.nan))]

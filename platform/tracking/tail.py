"""The new rows of a progress.csv as numbers by name."""

from __future__ import annotations

import math
from pathlib import Path

from bonuslab.platform.run.growing_table import GrowingTable
from bonuslab.platform.run.progress_table import STEPS

Row = dict[str, float]


class ProgressTail:
    """Reads whole new rows. A file that was rewritten (a new column, a restored checkpoint) is read from its start."""

    def __init__(self, path: Path) -> None:
        self._table = GrowingTable(path)

    def read(self, beyond_step: int) -> list[Row]:
        """The rows with more than `beyond_step` environment steps that `read` has not given yet."""
        cells, _ = self._table.read()
        rows = [_row(self._table.columns, line) for line in cells]
        return [row for row in rows if row.get(STEPS, 0) > beyond_step]

    def rewind(self) -> None:
        """Give all rows again: what was read could not be delivered."""
        self._table.forget()


def _row(columns: list[str], cells: list[str]) -> Row:
    """The numbers of one line; empty cells are left out."""
    row: Row = {}
    for name, cell in zip(columns, cells, strict=True):
        try:
            value = float(cell)
        except ValueError:
            continue
        if not math.isnan(value):
            row[name] = value
    return row

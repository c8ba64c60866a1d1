"""progress.csv: one row an iteration, on disk as soon as it is known."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from pathlib import Path

STEPS = "env_steps"
"""The column rows are ordered by."""


class ProgressTable:
    """Appends rows to a CSV file whose columns may grow; an absent value is an empty cell."""

    def __init__(self, path: Path) -> None:
        self._path = Path(path)
        self._columns: list[str] = []
        if self._path.exists():
            with self._path.open(newline="") as file:
                self._columns = next(csv.reader(file), [])

    def rows(self) -> list[dict[str, str]]:
        """All whole rows as text; the last one of a killed run may be cut short and is left out."""
        if not self._path.exists():
            return []
        text = self._path.read_text()
        whole = text[: text.rfind("\n") + 1]
        lines = csv.reader(whole.splitlines())
        next(lines, None)
        return [dict(zip(self._columns, line, strict=True)) for line in lines if len(line) == len(self._columns)]

    def cut_after(self, steps: int) -> dict[str, str] | None:
        """Forget the rows beyond `steps`, which a resumed run will write again; the last row that stays."""
        kept = [row for row in self.rows() if int(row[STEPS]) <= steps]
        self._rewrite(kept)
        return kept[-1] if kept else None

    def append(self, row: Mapping[str, float]) -> None:
        """Write one row and flush it; a column met for the first time is added to the whole file."""
        new = [name for name in row if name not in self._columns]
        if new:
            earlier = self.rows()
            self._columns += new
            self._rewrite(earlier)
        with self._path.open("a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow([_cell(row.get(name)) for name in self._columns])

    def _rewrite(self, rows: list[dict[str, str]]) -> None:
        building = self._path.with_name(f".{self._path.name}.building")
        with building.open("w", newline="") as file:
            writer = csv.DictWriter(file, self._columns, restval="", lineterminator="\n")
            if self._columns:
                writer.writeheader()
            writer.writerows(rows)
        os.replace(building, self._path)


def _cell(value: float | None) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else f"{value:.8g}"

"""The new end of a progress.csv, without reading again what was read before."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import BinaryIO

from bonuslab.platform.progress_table import STEPS

Row = dict[str, float]


class ProgressTail:
    """Reads whole new rows. A file that was rewritten (a new column, a restored checkpoint) is read from its start."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._header = b""
        self._offset = 0
        self._last_line = b""

    def read(self, beyond_step: int) -> list[Row]:
        """The rows with more than `beyond_step` environment steps that `read` has not given yet."""
        try:
            file = self._path.open("rb")
        except FileNotFoundError:
            return []
        with file:
            header = file.readline()
            if not header.endswith(b"\n"):
                return []
            if not self._goes_on(file, header):
                self._header, self._offset, self._last_line = header, len(header), header
            file.seek(self._offset)
            text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        if whole:
            self._offset += len(whole)
            self._last_line = whole[whole.rfind(b"\n", 0, -1) + 1 :]
        columns = next(csv.reader([header.decode()]))
        rows = [_row(columns, line) for line in csv.reader(whole.decode().splitlines())]
        return [row for row in rows if row.get(STEPS, 0) > beyond_step]

    def rewind(self) -> None:
        """Give all rows again: what was read could not be delivered."""
        self._header = b""

    def _goes_on(self, file: BinaryIO, header: bytes) -> bool:
        """Whether the file still begins with what was read."""
        if header != self._header:
            return False
        file.seek(self._offset - len(self._last_line))
        return file.read(len(self._last_line)) == self._last_line


def _row(columns: list[str], cells: list[str]) -> Row:
    """The numbers of one line; empty cells, and a line that is no row, are left out."""
    if len(cells) != len(columns):
        return {}
    row: Row = {}
    for name, cell in zip(columns, cells, strict=True):
        try:
            value = float(cell)
        except ValueError:
            continue
        if not math.isnan(value):
            row[name] = value
    return row

"""Writer and reader of progress.csv, one row per iteration.

The writer appends rows, and replaces the file when a column is added or rows are dropped. The reader follows the file
from another process and never returns an incomplete row.
"""

from __future__ import annotations

import csv
import errno
import math
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import BinaryIO

STEPS = "env_steps"
"""The column that orders the rows."""
MAX_STEPS = 2**53
"""Steps beyond it come from damage."""
MAX_HEADER_BYTES = 2**20
Row = dict[str, float]


class RowReader:
    """Complete rows of a growing file, each returned once.

    If the header or the last line read is no longer in place, the file was replaced and is read again from the start.
    Lines that are not rows of numbers are skipped; `problem` counts them.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.rewind()

    def rewind(self) -> None:
        """Start over with the next read."""
        self.columns: list[str] = []
        self.problem = ""
        self._header = self._last = b""
        self._offset = 0

    def read(self, tail_bytes: int | None = None) -> tuple[list[list[str]], bool]:
        """The cells of new rows, and whether they replace all earlier ones.

        A read from the start can be limited to the rows in the last `tail_bytes`.
        """
        try:
            return self.read_strictly(tail_bytes)
        except OSError:
            replaced = bool(self._header)
            self.rewind()
            return [], replaced

    def read_strictly(self, tail_bytes: int | None = None) -> tuple[list[list[str]], bool]:
        """Like `read`, but raises if the file cannot be read."""
        if not stat.S_ISREG(os.stat(self._path).st_mode):  # reading a pipe would never end
            raise OSError(errno.EINVAL, "it is not a file")
        with self._path.open("rb") as file:
            replaced = not self._header or not self._has_only_grown(file.fileno())
            if replaced:
                self.rewind()
                self._read_header(file, tail_bytes)
            file.seek(self._offset)
            return self._rows(file.read()) if self._header else [], replaced

    def new_rows(self) -> list[Row]:
        """New rows as numbers by column."""
        cells, _ = self.read()  # which sets `columns`
        return [as_row(self.columns, line) for line in cells]

    def _has_only_grown(self, file: int) -> bool:
        header = os.pread(file, len(self._header), 0)
        return header == self._header and os.pread(file, len(self._last), self._offset - len(self._last)) == self._last

    def _read_header(self, file: BinaryIO, tail_bytes: int | None) -> None:
        header = file.readline(MAX_HEADER_BYTES)
        if not header.endswith(b"\n"):
            self.problem = "its first line is incomplete" if header else ""
            return
        self._header = self._last = header
        self._offset = len(header)
        try:
            self.columns = next(csv.reader([header.decode()]), [])
        except (UnicodeDecodeError, csv.Error):
            self.columns = []
        if STEPS not in self.columns or len(set(self.columns)) < len(self.columns) or "\0" in "".join(self.columns):
            self.columns, self.problem = [], "its first line does not name the columns"
        start = os.fstat(file.fileno()).st_size - (tail_bytes or 0)
        if tail_bytes is not None and start > self._offset:
            file.seek(start)
            self._offset = start + len(file.readline())

    def _rows(self, text: bytes) -> list[list[str]]:
        lines = text[: text.rfind(b"\n") + 1].splitlines(keepends=True)
        if lines:
            self._offset += sum(map(len, lines))
            self._last = lines[-1]
        # Cells are numbers, so there are no quotes.
        rows = [line.decode(errors="replace").rstrip("\r\n").split(",") for line in lines]
        steps = self.columns.index(STEPS) if self.columns else 0
        whole = [row for row in rows if len(row) == len(self.columns) and 0 <= number(row[steps]) <= MAX_STEPS]
        if len(whole) < len(rows):
            self.problem = self.problem or f"{len(rows) - len(whole)} of its lines are not rows"
        return whole


class RowWriter:
    """Appends rows, adding columns as needed; absent values and NaN are empty cells."""

    def __init__(self, path: Path) -> None:
        self._path = Path(path)
        self._columns = columns_of(self._path)

    def append(self, row: Mapping[str, float]) -> None:
        """Write one row, completely or not at all; a new column is added to the whole file."""
        new = [name for name in row if name not in self._columns]
        if new:
            columns, rows = self._content()
            self._rewrite([*columns, *new], [[*cells, *[""] * len(new)] for cells in rows])
        line = _line(_cell(row.get(name)) for name in self._columns)
        with self._path.open("ab", buffering=0) as file:
            size = self._complete_bytes()
            file.truncate(size)
            try:
                if file.write(line) < len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            except OSError:
                file.truncate(size)
                raise

    def cut_after(self, steps: int) -> None:
        """Drop rows beyond `steps`, which a resumed run will write again."""
        columns, rows = self._content()
        self._rewrite(columns, [cells for cells in rows if as_row(columns, cells).get(STEPS, math.inf) <= steps])

    def replace(self, rows: Sequence[Row]) -> None:
        """Make these the only rows."""
        columns = list(dict.fromkeys(name for row in rows for name in row))
        self._rewrite(columns, [[_cell(row.get(name)) for name in columns] for row in rows])

    def _content(self) -> tuple[list[str], list[list[str]]]:
        """Columns and rows; raises if the file cannot be read, as it must not be replaced then."""
        reader = RowReader(self._path)
        rows = reader.read_strictly()[0] if self._path.exists() else []
        return reader.columns, rows

    def _complete_bytes(self) -> int:
        """The length of the file without a truncated last line."""
        with self._path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 1))
            return size if file.read(1) == b"\n" else self._path.read_bytes().rfind(b"\n") + 1

    def _rewrite(self, columns: list[str], rows: Iterable[Sequence[str]]) -> None:
        building = self._path.with_name(f".{self._path.name}.building")
        building.write_bytes(b"".join(map(_line, [columns, *rows] if columns else [])))
        os.replace(building, self._path)
        self._columns = columns


def read_rows(path: Path) -> list[Row]:
    """All complete rows; none if there is no file."""
    return RowReader(path).new_rows()


def rows_problem(path: Path) -> str:
    """What is damaged in a file of rows; empty if nothing is, or if there is no file."""
    reader = RowReader(path)
    try:
        rows, _ = reader.read_strictly()
    except FileNotFoundError:
        return ""
    except OSError as error:
        return error.strerror or str(error)
    strange = next((cell for row in rows for cell in row if cell and math.isnan(number(cell))), "")
    return reader.problem or (f"{strange[:40]!r} is not a number" if strange else "")


def columns_of(path: Path) -> list[str]:
    """The columns of a file, from its header alone."""
    reader = RowReader(path)
    reader.read(tail_bytes=0)
    return reader.columns


def as_row(columns: Sequence[str], cells: Sequence[str]) -> Row:
    """The values of one line by column, without empty cells and NaN."""
    return {name: value for name, cell in zip(columns, cells, strict=True) if not math.isnan(value := number(cell))}


def number(cell: str) -> float:
    """The number in a cell; NaN if there is none."""
    try:
        return float(cell)
    except ValueError:
        return math.nan


def _cell(value: float | None) -> str:
    if value is None or math.isnan(value):
        return ""
    return str(value) if isinstance(value, int) else f"{value:.8g}"


def _line(cells: Iterable[str]) -> bytes:
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue().encode()

"""A CSV file that another process appends to: only what is new is read."""

from __future__ import annotations

import csv
import os
from pathlib import Path


class GrowingTable:
    """The whole rows of a progress.csv as they come.

    The writer appends rows, and replaces the file when a column is added or rows are taken back. The file has only
    grown if its header and the line read last still stand where they stood; anything else is read anew.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.forget()

    def forget(self) -> None:
        """Read from the beginning next time."""
        self.columns: list[str] = []
        self._header = b""
        self._last = b""
        self._offset = 0

    def read(self, tail_bytes: int | None = None) -> tuple[list[list[str]], bool]:
        """New whole rows, and whether they replace all earlier ones; of a file read anew the last bytes may do."""
        try:
            with self._path.open("rb") as file:
                if self._header and self._has_only_grown(file.fileno()):
                    file.seek(self._offset)
                    return self._rows(file.read()), False
                self.forget()
                return self._begin(file.fileno(), tail_bytes), True
        except OSError:
            anew = bool(self._header)
            self.forget()
            return [], anew

    def _has_only_grown(self, file: int) -> bool:
        header = os.pread(file, len(self._header), 0)
        return header == self._header and os.pread(file, len(self._last), self._offset - len(self._last)) == self._last

    def _begin(self, file: int, tail_bytes: int | None) -> list[list[str]]:
        size = os.fstat(file).st_size
        start = os.pread(file, min(size, 1 << 16), 0)
        header = start[: start.find(b"\n") + 1]
        if not header:
            return []
        self._header = self._last = header
        self._offset = len(header)
        self.columns = next(csv.reader([header.decode(errors="replace")]), [])
        if tail_bytes is not None and size - tail_bytes > self._offset:
            begin = size - tail_bytes
            text = os.pread(file, tail_bytes, begin)
            cut = text.find(b"\n") + 1
            self._offset = begin + cut
            return self._rows(text[cut:])
        return self._rows(os.pread(file, size - self._offset, self._offset))

    def _rows(self, text: bytes) -> list[list[str]]:
        whole = text[: text.rfind(b"\n") + 1]
        if not whole:
            return []
        lines = whole.splitlines(keepends=True)
        self._offset += len(whole)
        self._last = lines[-1]
        # Cells are numbers, which hold no comma and need no quotes; a line cut short by a crash is left out.
        rows = (line.decode(errors="replace").rstrip("\r\n").split(",") for line in lines)
        return [row for row in rows if len(row) == len(self.columns)]


def number(text: str) -> float | None:
    """The number in a cell; None where there is none, or none that can be drawn."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None

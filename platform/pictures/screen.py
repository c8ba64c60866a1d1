"""Redraws a few lines of a terminal in place, with the cursor hidden."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TextIO

_HIDE_CURSOR, _SHOW_CURSOR, _CLEAR_TO_END = "\033[?25l", "\033[?25h", "\033[K"


class Screen:
    """`show` replaces the previous lines; as a context manager it restores the cursor."""

    def __init__(self, file: TextIO | None = None) -> None:
        self._file = file or sys.stdout
        self._height = 0

    def __enter__(self) -> Screen:
        self._file.write(_HIDE_CURSOR)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.write(_SHOW_CURSOR)
        self._file.flush()

    def show(self, lines: list[str]) -> None:
        """Draw; the number of lines should not shrink."""
        up = f"\033[{self._height}A\r" if self._height else ""
        self._file.write(up + "".join(f"{line}{_CLEAR_TO_END}\n" for line in lines))
        self._file.flush()
        self._height = len(lines)

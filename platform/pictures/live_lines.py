"""Lines at the bottom of a terminal that are redrawn in place, with permanent notes above them."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TextIO

_CLEAR_LINE, _CLEAR_BELOW = "\033[K", "\033[J"
_HIDE_CURSOR, _SHOW_CURSOR = "\033[?25l", "\033[?25h"


class LiveLines:
    """`show` replaces the previous lines; `note` writes above them. As a context manager it hides the cursor."""

    def __init__(self, file: TextIO | None = None) -> None:
        self._file = file or sys.stdout
        self._lines: list[str] = []

    def __enter__(self) -> LiveLines:
        self._file.write(_HIDE_CURSOR)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.write(_SHOW_CURSOR)
        self._file.flush()

    def show(self, lines: list[str]) -> None:
        """Draw; no line may be wider than the terminal."""
        self._file.write(self._up() + "".join(f"{line}{_CLEAR_LINE}\n" for line in lines) + _CLEAR_BELOW)
        self._file.flush()
        self._lines = lines

    def note(self, text: str) -> None:
        """Print a line that stays."""
        lines = self._lines
        self._file.write(f"{self._up()}{text}{_CLEAR_BELOW}\n")
        self._lines = []
        self.show(lines)

    def _up(self) -> str:
        return f"\033[{len(self._lines)}A\r" if self._lines else ""

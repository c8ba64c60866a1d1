"""Tables that are coloured in a terminal, plain when piped, and never truncated."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import TextIO

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

WIDEST = 10_000
"""Every row is one line: in a file, and where a terminal has to wrap lines itself."""


def print_table(
    headers: Sequence[str],
    rows: Iterable[Sequence[object]],
    numbers: Iterable[str] = (),
    footer: Sequence[object] | None = None,
    file: TextIO | None = None,
) -> None:
    """Print a table; columns named in `numbers` are right-aligned, a footer is separated by a rule."""
    file = file or sys.stdout
    right = set(numbers)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold", show_footer=bool(footer))
    for position, header in enumerate(headers):
        table.add_column(
            header,
            justify="right" if header in right else "left",
            style="cyan" if position == 0 else None,
            footer=str(footer[position]) if footer else "",
            footer_style="bold",
            no_wrap=position == 0 or header in right,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(str(value) for value in row))
    terminal = file.isatty()
    canvas = Console(file=StringIO(), width=WIDEST, force_terminal=terminal, no_color=not terminal, highlight=False)
    columns = shutil.get_terminal_size().columns
    if terminal and columns >= Measurement.get(canvas, canvas.options, table).minimum:  # where words fit, cells wrap
        canvas.width = columns
    with canvas.capture() as capture:
        canvas.print(table)
    for line in capture.get().splitlines():
        print(line.rstrip(), file=file)

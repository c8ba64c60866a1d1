"""Tables in a file and in terminals of any width: nothing is lost."""

from __future__ import annotations

import io
import re

import pytest

from bonuslab.platform.pictures.table import print_table

ROWS = [("MultiRoom-N4-S5", "8 moves PICKUP ZAP APPLY FIRE"), ("KeyRoom-S5", "8 moves")]


@pytest.mark.parametrize("columns", [None, 10, 35, 200])
def test_nothing_is_lost(columns: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    file.isatty = lambda: columns is not None  # type: ignore[method-assign]
    monkeypatch.setenv("COLUMNS", str(columns))
    print_table(("task", "actions"), ROWS, file=file)
    lines = [re.sub(r"\033\[[0-9;]*m", "", line) for line in file.getvalue().splitlines()]
    wraps = columns == 35
    assert len(lines) == (5 if wraps else 4)
    assert max(map(len, lines)) <= 35 or not wraps
    words = " ".join(lines).split()
    assert {"task", "actions", *(word for row in ROWS for cell in row for word in cell.split())} <= set(words)

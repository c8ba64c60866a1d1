"""A file that grows is read bit by bit; one that was rewritten is read anew."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bonuslab.platform.board.recent_rows import RecentRows
from bonuslab.platform.run.growing_table import GrowingTable, number
from bonuslab.platform.run.progress_table import ProgressTable


def steps(rows: list[list[str]]) -> list[int]:
    return [int(row[0]) for row in rows]


def test_gives_each_row_once_and_no_half_row(tmp_path: Path) -> None:
    path = tmp_path / "progress.csv"
    table = GrowingTable(path)
    assert table.read() == ([], False)
    path.write_text("env_ste")
    assert table.read()[0] == []
    path.write_text("env_steps,win_rate\n10,0.5\n20,0.")
    rows, anew = table.read()
    assert (steps(rows), anew) == ([10], True)
    with path.open("a") as file:
        file.write("25\n30,")
    assert table.read() == ([["20", "0.25"]], False)
    assert table.read() == ([], False)


def test_a_new_column_and_rows_taken_back_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "progress.csv"
    writer, table = ProgressTable(path), GrowingTable(path)
    for step in (10, 20, 30):
        writer.append({"env_steps": step, "a": 1.0})
    assert steps(table.read()[0]) == [10, 20, 30]
    writer.append({"env_steps": 40, "a": 1.0, "b": 2.0})
    rows, anew = table.read()
    assert (steps(rows), anew, table.columns) == ([10, 20, 30, 40], True, ["env_steps", "a", "b"])
    writer.cut_after(20)
    for step in (31, 41, 51):  # the file is longer than before, but another one
        writer.append({"env_steps": step, "a": 1.0, "b": 1.5})
    rows, anew = table.read()
    assert (steps(rows), anew) == ([10, 20, 31, 41, 51], True)
    path.unlink()
    assert table.read() == ([], True)


def test_the_tail_of_a_large_file_is_enough(tmp_path: Path) -> None:
    path = tmp_path / "progress.csv"
    path.write_text("env_steps,a\n" + "".join(f"{step},0.5\n" for step in range(10_000, 20_000)))
    table = GrowingTable(path)
    rows, anew = table.read(tail_bytes=100)
    assert anew
    assert steps(rows) == list(range(20_000 - len(rows), 20_000))
    assert 5 < len(rows) < 15
    with path.open("a") as file:
        file.write("20000,0.5\n")
    assert table.read() == ([["20000", "0.5"]], False)


@pytest.mark.parametrize(("text", "value"), [("0.5", 0.5), ("", None), ("nan", None), ("-inf", None), ("x", None)])
def test_only_numbers_that_can_be_drawn_count(text: str, value: float | None) -> None:
    assert number(text) == value


@pytest.mark.parametrize("count", [1, 7, 3_000])
def test_present_values_are_those_of_the_definition(tmp_path: Path, count: int) -> None:
    random = np.random.default_rng(count)
    at = np.cumsum(random.integers(1, 100, count))
    values = random.normal(size=count)
    path = tmp_path / "progress.csv"
    lines = [
        f"{step},{value:.8g},{'0.75' if place == 0 else ''}"
        for place, (step, value) in enumerate(zip(at, values, strict=True))
    ]
    path.write_text("\n".join(["env_steps,win_rate,evaluation/sampled/win_rate", *lines[: count // 2], ""]))
    recent = RecentRows(path, ("win_rate", "evaluation/sampled/win_rate", "coverage"))
    recent.refresh()
    with path.open("a") as file:
        file.write("\n".join([*lines[count // 2 :], ""]))
    recent.refresh()
    slow = [value for step, value in zip(at, values, strict=True) if step >= 0.9 * at[-1]]
    assert recent.value("win_rate") == pytest.approx(sum(slow) / len(slow), rel=1e-6)
    assert recent.value("evaluation/sampled/win_rate") == 0.75, "the last evaluation, however long ago"
    assert recent.value("coverage") is None

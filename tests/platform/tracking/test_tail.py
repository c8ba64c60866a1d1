"""Only new whole rows are read, also from a file that was rewritten."""

from __future__ import annotations

from pathlib import Path

import pytest

from bonuslab.platform.run.progress_table import ProgressTable
from bonuslab.platform.tracking.tail import ProgressTail


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "progress.csv"


def steps(tail: ProgressTail, beyond: int = 0) -> list[float]:
    return [row["env_steps"] for row in tail.read(beyond)]


def test_each_row_is_given_once(path: Path) -> None:
    tail, table = ProgressTail(path), ProgressTable(path)
    assert steps(tail) == []
    table.append({"env_steps": 10, "win_rate": 0.5})
    table.append({"env_steps": 20})
    assert tail.read(0) == [{"env_steps": 10, "win_rate": 0.5}, {"env_steps": 20}]
    assert steps(tail) == []
    table.append({"env_steps": 30})
    assert steps(tail) == [30]
    tail.rewind()
    assert steps(tail, beyond=10) == [20, 30]


def test_row_that_is_still_being_written_waits(path: Path) -> None:
    tail, table = ProgressTail(path), ProgressTable(path)
    table.append({"env_steps": 10, "win_rate": 0.5})
    with path.open("a") as file:
        file.write("20,0.")
    assert steps(tail) == [10]
    with path.open("a") as file:
        file.write("7\n")
    assert tail.read(10) == [{"env_steps": 20, "win_rate": 0.7}]


def test_rewritten_file_is_read_from_its_start(path: Path) -> None:
    tail, table = ProgressTail(path), ProgressTable(path)
    for number in range(1, 6):
        table.append({"env_steps": 10 * number, "win_rate": number / 10})
    assert steps(tail) == [10, 20, 30, 40, 50]
    table.append({"env_steps": 60, "new": 1.0})  # a new column rewrites the file
    assert tail.read(50) == [{"env_steps": 60, "new": 1.0}]
    table.cut_after(20)  # a restored checkpoint does too
    for number in (35, 55, 75):
        table.append({"env_steps": number})
    assert steps(tail, beyond=60) == [75]

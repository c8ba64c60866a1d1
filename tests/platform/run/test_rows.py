"""Rows are written whole and read once, also from a file that was cut short or rewritten."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from bonuslab.platform.run.folder import TrialFolder
from bonuslab.platform.run.rows import RowReader, RowWriter, columns_of, number, read_rows


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "progress.csv"


def steps(rows: list[list[str]]) -> list[int]:
    return [int(row[0]) for row in rows]


def test_each_row_is_read_once_and_never_half_of_it(path: Path) -> None:
    reader = RowReader(path)
    assert reader.read() == ([], False)
    path.write_text("env_ste")
    assert reader.read()[0] == []
    path.write_text("env_steps,win_rate\n10,0.5\n20,0.")
    assert reader.read() == ([["10", "0.5"]], True)
    with path.open("a") as file:
        file.write("25\n30,")
    assert reader.read() == ([["20", "0.25"]], False)
    assert reader.read() == ([], False)
    reader.rewind()
    assert reader.new_rows() == [{"env_steps": 10, "win_rate": 0.5}, {"env_steps": 20, "win_rate": 0.25}]


def test_a_new_column_and_rows_taken_back_are_noticed(path: Path) -> None:
    writer, reader = RowWriter(path), RowReader(path)
    for step in (10, 20, 30):
        writer.append({"env_steps": step, "a": 1.0})
    assert steps(reader.read()[0]) == [10, 20, 30]
    writer.append({"env_steps": 40, "a": 1.0, "b": 2.0})
    rows, anew = reader.read()
    assert (steps(rows), anew, reader.columns) == ([10, 20, 30, 40], True, ["env_steps", "a", "b"])
    writer.cut_after(20)
    for step in (31, 41, 51):  # the file is longer than before, but another one
        writer.append({"env_steps": step, "a": 1.0, "b": 1.5})
    rows, anew = reader.read()
    assert (steps(rows), anew) == ([10, 20, 31, 41, 51], True)
    path.unlink()
    assert reader.read() == ([], True)


def test_the_tail_of_a_large_file_is_enough(path: Path) -> None:
    path.write_text("env_steps,a\n" + "".join(f"{step},0.5\n" for step in range(10_000, 20_000)))
    reader = RowReader(path)
    rows, anew = reader.read(tail_bytes=100)
    assert anew
    assert steps(rows) == list(range(20_000 - len(rows), 20_000))
    assert 5 < len(rows) < 15
    with path.open("a") as file:
        file.write("20000,0.5\n")
    assert reader.read() == ([["20000", "0.5"]], False)


def test_columns_grow_and_rows_stay(path: Path) -> None:
    writer = RowWriter(path)
    writer.append({"env_steps": 10, "episode_return": 0.5})
    writer.append({"env_steps": 200_000_001, "entropy": 1 / 3})
    writer.append({"env_steps": 300_000_002, "episode_return": float("nan"), "term/count(a, b)": 0.25})
    lines = ["10,0.5,,", "200000001,,0.33333333,", "300000002,,,0.25", ""]
    assert path.read_text() == "\n".join(['env_steps,episode_return,entropy,"term/count(a, b)"', *lines])
    assert columns_of(path) == ["env_steps", "episode_return", "entropy", "term/count(a, b)"]
    assert read_rows(path)[2] == {"env_steps": 300_000_002, "term/count(a, b)": 0.25}


def test_cutting_drops_later_rows_and_a_half_written_one(path: Path) -> None:
    path.write_text("env_steps,entropy\n10,1\n20,2\n30,3\n40,")
    writer = RowWriter(path)
    writer.cut_after(20)
    writer.append({"env_steps": 25, "entropy": 5})
    assert path.read_text() == "env_steps,entropy\n10,1\n20,2\n25,5\n"
    writer.cut_after(0)
    assert read_rows(path) == []


def test_a_full_disk_leaves_no_half_row(path: Path) -> None:
    writer = RowWriter(path)
    writer.append({"env_steps": 10, "entropy": 1.5})
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 3, hard))
    try:
        with pytest.raises(OSError, match="No space left"):
            writer.append({"env_steps": 20, "entropy": 1.25})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before
    path.write_bytes(before + b"20,1.2")  # what a killed machine may leave
    writer.append({"env_steps": 30, "entropy": 1.25})
    assert path.read_bytes() == before + b"30,1.25\n"


def test_a_file_that_cannot_be_read_is_not_replaced(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = RowWriter(path)
    writer.append({"env_steps": 10})
    before = path.read_bytes()

    def fail(*arguments: object, **options: object) -> None:
        raise OSError("too many open files")

    monkeypatch.setattr(Path, "open", fail)
    assert read_rows(path) == []
    for change in (lambda: writer.append({"env_steps": 20, "new": 1.0}), lambda: writer.cut_after(5)):
        with pytest.raises(OSError, match="too many open files"):
            change()
    monkeypatch.undo()
    assert path.read_bytes() == before


def test_the_table_of_a_trial_has_numbers(tmp_path: Path, path: Path) -> None:
    folder = TrialFolder(tmp_path)
    assert folder.rows().empty
    path.write_text("env_steps,win_rate\n")
    assert folder.rows().empty
    path.write_text("env_steps,win_rate\n10,\n20,0.5\n30\n40,1e-\n50,0.7")
    rows = folder.rows()
    assert rows["env_steps"].tolist() == [10, 20, 40]
    assert rows["win_rate"].dropna().tolist() == [0.5]


@pytest.mark.parametrize(("text", "value"), [("0.5", 0.5), ("", None), ("nan", None), ("x", None), ("-inf", -1e400)])
def test_a_cell_is_a_number_or_nan(text: str, value: float | None) -> None:
    found = number(text)
    assert found != found if value is None else found == value

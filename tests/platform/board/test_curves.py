"""Curves with few points agree with the rows; unknown columns are drawn too."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bonuslab.platform.board import large_table
from bonuslab.platform.board.curves import Curves, arranged
from bonuslab.platform.board.recent_rows import RecentRows
from bonuslab.platform.run.rows import RowWriter


def write(path: Path, rows: np.ndarray) -> None:
    table = "".join(f"{int(step)},{'' if math.isnan(value) else value},7\n" for step, value in rows)
    path.write_text(f"env_steps,rooms,iteration\n{table}")


def test_points_are_means_lows_and_highs_of_equal_groups(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    rows = np.column_stack([np.arange(1, 1001) * 10, random.normal(size=1000)])
    rows[random.random(1000) < 0.3, 1] = np.nan
    write(tmp_path / "progress.csv", rows)
    curves = Curves(tmp_path / "progress.csv")
    curves.refresh()
    data = curves.as_data("rooms", points=50)
    (column,) = data["columns"]
    assert len(column["mean"]) == 50
    for place in range(50):
        group = [value for value in rows[20 * place : 20 * place + 20, 1] if not math.isnan(value)]
        assert column["mean"][place] == pytest.approx(sum(group) / len(group), rel=1e-3)
        assert column["low"][place] == pytest.approx(min(group), rel=1e-3)
        assert column["high"][place] == pytest.approx(max(group), rel=1e-3)
        assert data["steps"][place] == sum(range(20 * place + 1, 20 * place + 21)) / 20 * 10
    assert column["last"] == pytest.approx(rows[~np.isnan(rows[:, 1])][-1, 1], rel=1e-3)
    json.dumps(data, allow_nan=False)


def test_the_first_episodes_to_end_are_not_shown_as_results(tmp_path: Path) -> None:
    path = tmp_path / "progress.csv"
    table, curves = RowWriter(path), Curves(path)
    recent = RecentRows(path, ("win_rate", "env_steps_per_second"), fewest=20)
    table.append({"env_steps": 10, "win_rate": 1.0, "episodes": 3, "env_steps_per_second": 5.0})
    curves.refresh()
    recent.refresh()
    assert {column["name"] for column in curves.as_data("win_rate", fewest=20)["columns"]} == {
        "episodes",
        "env_steps_per_second",
    }
    assert (recent.value("win_rate"), recent.value("env_steps_per_second")) == (None, 5.0)
    table.append({"env_steps": 20, "win_rate": 0.25, "episodes": 21, "env_steps_per_second": 5.0})
    curves.refresh()
    recent.refresh()
    columns = {column["name"]: column for column in curves.as_data("win_rate", fewest=20)["columns"]}
    assert (columns["win_rate"]["mean"], columns["episodes"]["mean"]) == ([None, 0.25], [3, 21])
    assert recent.value("win_rate") == 0.25


def test_a_run_without_a_bonus_has_no_charts_of_it(tmp_path: Path) -> None:
    for name, raw in (("without", 0.0), ("with", 0.5)):
        row = {"env_steps": 10, "entropy": 1.0, "bonus/mean": raw, "bonus/sigma": 1.0, "bonus_raw/mean": raw}
        RowWriter(tmp_path / name).append(row)
        curves = Curves(tmp_path / name)
        curves.refresh()
        drawn = {column["name"] for column in curves.as_data("entropy")["columns"]}
        assert drawn == {"entropy"} | ({"bonus/mean", "bonus/sigma", "bonus_raw/mean"} if raw else set())


def test_few_rows_are_drawn_unchanged_and_more_are_added(tmp_path: Path) -> None:
    path = tmp_path / "progress.csv"
    curves = Curves(path)
    curves.refresh()
    assert curves.as_data("win_rate") == {"rows": 0, "steps": [], "columns": []}
    table = RowWriter(path)
    table.append({"env_steps": 10, "win_rate": 0.1})
    table.append({"env_steps": 20, "win_rate": 0.2})
    curves.refresh()
    table.append({"env_steps": 30, "win_rate": 0.3, "evaluation/greedy/win_rate": 0.5})
    curves.refresh()
    data = curves.as_data("win_rate")
    assert data["steps"] == [10, 20, 30]
    assert [(column["name"], column["mean"]) for column in data["columns"]] == [
        ("win_rate", [0.1, 0.2, 0.3]),
        ("evaluation/greedy/win_rate", [None, None, 0.5]),
    ]
    assert "low" not in data["columns"][0]


def test_columns_have_their_place() -> None:
    names = ["env_steps", "queue_depth", "rooms", "term/e3b/raw_mean", "entropy", "win_rate", "bonus/mean", "coverage"]
    expected = ["coverage", "win_rate", "bonus/mean", "term/e3b/raw_mean", "entropy", "queue_depth", "rooms"]
    assert arranged(names, metric="coverage") == expected


@pytest.mark.parametrize("count", [1, 7, 3_000])
def test_present_values_follow_their_definition(tmp_path: Path, count: int) -> None:
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


def test_a_large_table_has_the_same_curves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, random = tmp_path / "progress.csv", np.random.default_rng(2)
    rows = np.column_stack([np.arange(1, 20_001) * 10, random.normal(size=20_000)])
    rows[random.random(20_000) < 0.3, 1] = np.nan
    write(path, rows)
    exact = Curves(path)
    exact.refresh()
    monkeypatch.setattr(large_table, "LARGE_BYTES", 1_000)
    monkeypatch.setattr(large_table, "BLOCK_BYTES", 4_000)
    for damage in ("", "20005,1.5x,7\n", "1,2\n"):
        with path.open("a") as file:
            file.write(damage)
        large = Curves(path)
        large.refresh()
        groups = large.as_data("rooms", points=10)
        wanted = exact.as_data("rooms", points=10)
        assert groups["rows"] == 20_000 + (damage != "")
        assert groups["steps"] == pytest.approx(wanted["steps"], rel=0.06)  # groups have equal bytes
        (column,), (truth,) = groups["columns"], wanted["columns"]
        assert min(column["low"]) == min(truth["low"])
        assert max(column["high"]) == max(truth["high"])
        assert np.mean(column["mean"]) == pytest.approx(np.nanmean(rows[:, 1]), abs=0.002)
    with path.open("a") as file:
        file.write("300000,50,7\n300010,")  # a row, and the beginning of one
    large.refresh()
    assert large.as_data("rooms")["rows"] == 20_002
    assert large.as_data("rooms")["columns"][0]["last"] == 50
    again = Curves(path)
    again.refresh()
    assert again.as_data("rooms")["rows"] == 20_002, "the incomplete row does not count"


OPEN = """
import sys
from pathlib import Path
from bonuslab.platform.board.curves import Curves
from bonuslab.platform.board.recent_rows import RecentRows
curves, recent = Curves(Path(sys.argv[1])), RecentRows(Path(sys.argv[1]), ("win_rate",))
curves.refresh(), recent.refresh()
assert recent.value("win_rate") is not None
# Not `ru_maxrss`, which begins at what the process that started this one has.
(peak,) = (line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(curves.as_data("win_rate")["rows"], int(peak) >> 10)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_table_of_150_mb_takes_less_than_200_mb(tmp_path: Path) -> None:
    path, columns = tmp_path / "progress.csv", ["env_steps", "win_rate", *(f"learn/{n}" for n in range(38))]
    block = "".join(f"{n},{','.join(['0.12345678'] * 39)}\n" for n in range(1_000))
    with path.open("w") as file:
        file.write(",".join(columns) + "\n")
        for _ in range(350):
            file.write(block)
    assert path.stat().st_size > 150e6
    done = subprocess.run([sys.executable, "-c", OPEN, str(path)], capture_output=True, text=True, check=True)
    rows, megabytes = map(int, done.stdout.split())
    assert rows == 350_000
    assert megabytes < 200

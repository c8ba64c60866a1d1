"""The comparison by bonus: means and ranges over seeds, all tasks together, and what is left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bonuslab.platform.board import comparison as module
from bonuslab.platform.board.comparison import SPANS, spans_of
from bonuslab.platform.board.grid_watch import GridWatch
from bonuslab.platform.board.layout import layout_of
from bonuslab.platform.run.folder import GridFolder
from bonuslab.platform.run.rows import RowWriter


@pytest.fixture
def grid(tmp_path: Path, write_sample_grid: Callable[..., GridFolder]) -> GridFolder:
    return write_sample_grid(tmp_path / "grid", seeds=(0, 1, 2), rows=10)


def compared(watch: GridWatch, metric: str = "win_rate") -> dict[str, Any]:
    comparison, description = watch.comparison()
    return comparison.as_data(layout_of(description), metric, "win_rate")


def test_curves_are_means_and_ranges_over_seeds(grid: GridFolder) -> None:
    data = compared(GridWatch(grid.path))
    assert [chart["row"] for chart in data["charts"]] == [0, 1]
    curve = data["charts"][0]["curves"][2]  # e3b on the first task
    tables = [trial.rows() for trial in grid.trials() if trial.id.startswith("MultiRoom-N4-S5__e3b__")]
    assert curve["seeds"] == len(tables) == 3
    for row, steps in enumerate(tables[0]["env_steps"]):
        at = data["steps"].index(steps)
        values = [table["win_rate"].iloc[row] for table in tables]
        assert curve["mean"][at] == pytest.approx(np.mean(values), abs=1e-3)
        assert (curve["low"][at], curve["high"][at]) == pytest.approx((min(values), max(values)), abs=1e-3)
    assert curve["mean"][:9] == [None] * 9, "nothing before the first row"
    assert curve["complete"] == SPANS


def test_what_only_some_seeds_have_reached_is_marked(grid: GridFolder) -> None:
    # Of e3b * rnd on the last task, one trial failed at 30 %, one is at 50 % and one has not begun.
    curve = compared(GridWatch(grid.path))["charts"][1]["curves"][3]
    assert (curve["panel"], curve["seeds"], curve["complete"]) == (3, 2, 30)
    assert curve["mean"][49] is not None
    assert curve["mean"][50] is None


def test_shares_of_all_tasks_are_averaged_but_returns_are_not(grid: GridFolder) -> None:
    watch = GridWatch(grid.path)
    data = compared(watch)
    assert data["share"] is True
    e3b = [next(curve for curve in chart["curves"] if curve["panel"] == 2) for chart in data["charts"]]
    together = next(curve for curve in data["together"] if curve["panel"] == 2)
    assert together["mean"][-1] == pytest.approx(np.mean([curve["mean"][-1] for curve in e3b]), abs=1e-3)
    # On the last task e3b * rnd has come to 50 %: beyond, the mean would be of other tasks than that of the others.
    assert next(curve for curve in data["together"] if curve["panel"] == 3)["mean"][50:] == [None] * 50
    assert compared(watch, "episode_return")["together"] is None


def test_every_result_and_evaluation_can_be_chosen(grid: GridFolder) -> None:
    watch = GridWatch(grid.path)
    data = compared(watch)
    assert [item["name"] for item in data["metrics"]] == [
        "win_rate",
        "episode_return",
        "evaluation/greedy/win_rate",
        "evaluation/greedy/episode_return_mean",
    ]
    chosen = compared(watch, "evaluation/greedy/win_rate")
    values = chosen["charts"][0]["curves"][0]["mean"]
    assert values[:-1] == [None] * (SPANS - 1), "evaluated at the end alone"
    assert values[-1] == pytest.approx(data["charts"][0]["curves"][0]["mean"][-1], abs=1e-3)
    assert compared(watch, "no such")["metric"] == "win_rate"


def test_training_counts_once_enough_episodes_have_ended(tmp_path: Path) -> None:
    table = tmp_path / "progress.csv"
    writer = RowWriter(table)
    for row, episodes in enumerate((3, 19, 20, 80), start=1):
        writer.append(
            {"env_steps": 25 * row, "episodes": episodes, "win_rate": 1 / row, "evaluation/greedy/win_rate": 0.5}
        )
    found = spans_of(table, 100, fewest=20)
    np.testing.assert_allclose(found["win_rate"][[74, 99]], [1 / 3, 1 / 4])
    assert np.isnan(found["win_rate"][:74]).all()
    assert found["evaluation/greedy/win_rate"][24] == 0.5


def test_a_large_grid_is_read_in_parts_and_what_changed_again(
    grid: GridFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAUSE_SECONDS", (0.0, 0.0))
    reads: list[Path] = []
    original = spans_of
    monkeypatch.setattr(module, "spans_of", lambda path, *rest: (reads.append(path), original(path, *rest))[1])
    watch = GridWatch(grid.path)
    monkeypatch.setattr(module, "READ_SECONDS", 0.0)
    assert compared(watch)["unread"] == 23
    monkeypatch.setattr(module, "READ_SECONDS", 1e9)
    assert compared(watch)["unread"] == 0
    assert len(reads) == 23, "one trial has no table"
    tag = watch.comparison()[0].tag("win_rate")
    running = grid.trials()[-2]
    RowWriter(running.progress).append({"env_steps": 60_000, "win_rate": 1.0, "episodes": 900})
    replace(running.state(), env_steps=60_000).write(running.state_file)
    curve = compared(watch)["charts"][1]["curves"][3]
    assert curve["mean"][59] == 1.0
    assert reads[23:] == [running.progress]
    assert watch.comparison()[0].tag("win_rate") != tag

"""`bl.plot`: panels, lines and bootstrap bands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import bonuslab as bl
from bonuslab.platform.run.folder import GridFolder


@pytest.fixture(scope="module")
def grid(write_sample_grid: Callable[..., GridFolder], tmp_path_factory: pytest.TempPathFactory) -> bl.Grid:
    path = tmp_path_factory.mktemp("plot") / "grid"
    write_sample_grid(path, rows=6)
    found = bl.load(path)
    assert isinstance(found, bl.Grid)
    return found


def test_a_panel_per_task_and_a_line_per_bonus(grid: bl.Grid, tmp_path: Path) -> None:
    figure = bl.plot(grid, "win_rate")
    panels = figure.get_axes()
    assert [panel.get_title() for panel in panels] == ["MultiRoom-N4-S5", "KeyRoom-S5"]
    for panel in panels:
        assert [line.get_label() for line in panel.get_lines()] == ["none", "rnd", "e3b", "e3b * rnd"]
        assert (panel.get_xlabel(), panel.get_ylabel()) == ("environment steps", "win rate")
    figure.savefig(tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 10_000


def test_bands_lie_within_the_range_and_around_the_mean(grid: bl.Grid) -> None:
    (panel,) = bl.plot([run for run in grid if run.labels["task"] == "MultiRoom-N4-S5"], "win_rate").get_axes()
    assert len(panel.collections) == 4
    for line, band in zip(panel.get_lines(), panel.collections, strict=True):
        corners = band.get_paths()[0].vertices
        assert corners[:, 1].min() >= 0
        assert corners[:, 1].max() <= 1
        means = np.interp(corners[:, 0], *line.get_data())
        assert (corners[:, 1] < means).any()
        assert (corners[:, 1] > means).any()
        assert np.abs(corners[:, 1] - means).max() < 0.2


def test_one_run_has_a_line_and_no_band(grid: bl.Grid) -> None:
    (panel,) = bl.plot(grid.runs[0], "episode_return").get_axes()
    (line,) = panel.get_lines()
    steps, values = line.get_data()
    rows = grid.runs[0].metrics
    np.testing.assert_allclose(values, np.interp(steps, rows["env_steps"], rows["episode_return"]))
    assert len(panel.collections) == 0


def test_a_run_with_one_row_is_a_visible_point(
    write_sample_grid: Callable[..., GridFolder], tmp_path: Path, grid: bl.Grid
) -> None:
    write_sample_grid(tmp_path / "short", rows=1)
    short = bl.load(tmp_path / "short")
    assert isinstance(short, bl.Grid)
    assert {line.get_marker() for line in bl.plot(short.runs[0]).get_axes()[0].get_lines()} == {"o"}
    assert "o" not in {line.get_marker() for line in bl.plot(grid).get_axes()[0].get_lines()}


def test_training_results_of_few_episodes_are_left_out(
    write_sample_grid: Callable[..., GridFolder], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_sample_grid(tmp_path / "grid", rows=6)
    grid = bl.load(tmp_path / "grid")
    assert isinstance(grid, bl.Grid)
    run = grid.runs[0]
    steps = run.metrics["env_steps"].to_list()
    table = run.metrics.assign(episodes=[2, 5, 19, 40, 80, 120])
    monkeypatch.setattr(bl.Run, "metrics", property(lambda _: table))
    monkeypatch.setattr("bonuslab.platform.api.plotting.fewest_episodes", lambda _: 20)
    (line,) = bl.plot(run, "win_rate").get_axes()[0].get_lines()
    assert line.get_xdata()[[0, -1]].tolist() == [steps[3], steps[-1]]
    assert line.axes.get_xlim()[0] == 0
    assert line.axes.get_xlim()[1] >= steps[-1]
    assert line.axes.get_ylim() == (-0.02, 1.02)  # small differences of a share look small
    table["episodes"] = 3
    (line,) = bl.plot(run, "win_rate").get_axes()[0].get_lines()
    assert set(line.get_xdata()) == {steps[-1]}


def test_variants_are_lines_of_their_own(grid: bl.Grid, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = {run.path: run.labels for run in grid}
    monkeypatch.setattr(bl.Run, "labels", property(lambda run: labels[run.path] | {"variant": run.trial.id[-1]}))
    runs = [run for run in grid if (run.labels["task"], run.labels["bonus"]) == ("MultiRoom-N4-S5", "rnd")]
    lines = bl.plot(runs, "win_rate").get_axes()[0].get_lines()
    assert [line.get_label() for line in lines] == [f"rnd ({run.trial.id[-1]})" for run in runs]


def test_an_unknown_metric_is_named(grid: bl.Grid) -> None:
    with pytest.raises(bl.InvalidInput, match="did you mean win_rate"):
        bl.plot(grid, "winrate")

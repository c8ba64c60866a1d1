"""Reading trials: damaged and long files, names of methods and tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bonuslab.platform.report import trial_results
from bonuslab.platform.report.curves import POINTS, Curve, average, curve_column, evolution, over_tasks
from bonuslab.platform.report.trial_results import Series, contexts_order, load
from bonuslab.platform.run.folder import GridFolder


def first_trial(folder: GridFolder) -> trial_results.Trial:
    return load(folder, lambda columns: "win_rate")[0].trials[0]


@pytest.mark.parametrize(
    ("file", "steps", "values"),
    [
        ("env_steps,win_rate\n100,0.5\n200,0.7\n300,0.", [100, 200], [0.5, 0.7]),  # killed while writing
        ("env_steps,win_rate\n100,0.5\n200\n300,0.9\n", [100, 300], [0.5, 0.9]),  # cut short, then continued
        ("env_steps,win_rate\n100,0.5\n200,1e-\n300,0.9\n", [100, 300], [0.5, 0.9]),
        ("env_steps,win_rate\n100,\n200,nan\n300,0.9\n", [300], [0.9]),
        ('env_steps,"term/count(a, b)/raw_mean",win_rate\n100,1,0.5\n', [100], [0.5]),
        ("env_steps,win_rate\n", [], []),
        ("env_ste", [], []),
        ("", [], []),
    ],
)
def test_complete_rows_of_a_damaged_file(
    tmp_path: Path, make_grid: Callable, trial_of: Callable, file: str, steps: list[float], values: list[float]
) -> None:
    trial = trial_of("e3b", 0)
    folder = make_grid(tmp_path / "g", [(trial, {}, "running")])
    folder.trial(trial.id).progress.write_text(file)
    column = first_trial(folder).column("win_rate")
    assert (column.steps.tolist(), column.values.tolist()) == (steps, values)


def test_long_columns_are_averaged_in_blocks() -> None:
    values = np.random.default_rng(0).random(4_503)
    series = trial_results._thinned(np.arange(1, 4_504), values)
    assert len(series) == 1_501  # blocks of three rows
    assert series.steps[-1] == 4_503
    literal = [values[start : start + 3].mean() for start in range(0, 4_503, 3)]
    assert series.values == pytest.approx(literal)


def test_names_include_variants_and_contexts_only_where_they_vary(
    tmp_path: Path, make_grid: Callable, trial_of: Callable
) -> None:
    plain = trial_of("e3b", 0, contexts="10")
    folder = make_grid(tmp_path / "plain", [(plain, {}, "waiting")])
    assert (first_trial(folder).method, first_trial(folder).unit) == ("e3b", "MultiRoom-N6-Lava")
    other = trial_of("e3b", 1)
    other = replace(other, labels=other.labels | {"variant": "no penalty"})
    results, _ = load(
        make_grid(tmp_path / "varied", [(plain, {}, "waiting"), (other, {}, "waiting")]), lambda columns: "win_rate"
    )
    assert [trial.method for trial in results.trials] == ["e3b", "e3b (no penalty)"]
    assert results.units == ["MultiRoom-N6-Lava, |C| = 10", "MultiRoom-N6-Lava, |C| = ∞"]


def test_contexts_are_ordered_as_numbers() -> None:
    assert sorted(["inf", "10", "1", "3", "train"], key=contexts_order) == ["1", "3", "10", "inf", "train"]


def test_curve_is_the_mean_over_seeds_with_a_value() -> None:
    steps = np.arange(1, POINTS + 1) * 10.0 - 5.0  # one value in the middle of each span
    first, second = np.random.default_rng(0).random((2, POINTS))
    curve = average([Series(steps, first), Series(steps[:40], second[:40])], POINTS * 10.0)
    assert curve is not None
    assert curve.steps == pytest.approx(steps)
    assert curve.mean[:40] == pytest.approx((first[:40] + second[:40]) / 2)
    assert curve.low[:40] == pytest.approx(np.minimum(first[:40], second[:40]))  # two seeds: their range
    assert curve.high[:40] == pytest.approx(np.maximum(first[:40], second[:40]))
    assert curve.low[40:] == pytest.approx(first[40:])
    assert curve.mean[40:] == pytest.approx(first[40:])
    assert (curve.whole_until, curve.seeds[-1]) == (40, 1)


def test_mean_over_tasks_ends_with_the_shortest_and_needs_every_task() -> None:
    def curve(value: float, end: float) -> Curve:
        found = average([Series(np.linspace(1, end, 200), np.full(200, value))], end)
        assert found is not None
        return found

    tasks = [{"e3b": curve(0.2, 1_000.0), "rnd": curve(1.0, 1_000.0)}, {"e3b": curve(0.6, 500.0)}]
    found = over_tasks(tasks)
    assert list(found) == ["e3b"]
    assert found["e3b"].steps[-1] <= 500
    assert found["e3b"].mean[np.isfinite(found["e3b"].mean)] == pytest.approx(0.4)


def test_sparse_values_are_interpolated_but_not_extrapolated() -> None:
    curve = average([Series(np.array([5.0, 405.0]), np.array([0.0, 1.0]))], 800.0)
    assert curve is not None
    assert curve.mean[20] == pytest.approx(0.5)
    assert np.isnan(curve.mean[41:]).all()
    assert average([Series(np.array([5.0]), np.array([0.0]))], 800.0) is None


def test_final_evaluations_alone_are_no_curve(tmp_path: Path, make_grid: Callable, trial_of: Callable) -> None:
    nan = float("nan")
    columns = {"win_rate": [0.1, 0.2, 0.3], "evaluation/greedy/win_rate": [nan, nan, 0.5]}
    folder = make_grid(tmp_path / "g", [(trial_of("e3b", 0), columns, "finished")])
    results, metric = load(folder, lambda names: "evaluation/greedy/win_rate")
    assert curve_column(results, metric) == "win_rate"
    assert curve_column(results, "win_rate") == "win_rate"


def test_evolution_shows_each_part_for_bonuses_that_have_it(rich_grid: GridFolder) -> None:
    results, _ = load(rich_grid, lambda columns: "win_rate")
    rows = evolution(results)["MultiRoom-N6-Lava, |C| = 1"]
    assert set(rows["inverse-dynamics loss"]) == {"count.episodic", "e3b", "e3b * rnd"}
    assert set(rows["episodic bonus"]) == {"count.episodic", "e3b", "e3b * rnd"}
    assert set(rows["global bonus"]) == {"count.global", "e3b * rnd"}
    assert len(rows["extrinsic return"]) == 5

"""What is compared: final values, equal steps on unfinished grids, failures, missing trials."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.report.analysis import Analysis
from bonuslab.platform.report.comparison import Comparison, choose_metric, compare, final_value
from bonuslab.platform.report.trial_results import Series, load
from bonuslab.platform.run.folder import GridFolder

RISING = [number / 10 for number in range(1, 11)]


def compared(folder: GridFolder, metric: str = "win_rate") -> Comparison:
    results, column = load(folder, lambda columns: choose_metric(metric, None, columns))
    return compare(results, column)


def test_final_value_is_the_mean_of_the_last_tenth_of_the_steps() -> None:
    random = np.random.default_rng(0)
    series = Series(np.arange(1, 201) * 5.0, random.random(200))
    last = [value for step, value in zip(series.steps, series.values, strict=True) if 900 < step <= 1000]
    assert final_value(series, 1000, evaluation=False) == pytest.approx(sum(last) / len(last))
    assert final_value(series, 1000, evaluation=True) == series.values[-1]
    earlier = [value for step, value in zip(series.steps, series.values, strict=True) if 450 < step <= 500]
    assert final_value(series, 500, evaluation=False) == pytest.approx(sum(earlier) / len(earlier))


def test_finished_trials_are_compared_at_full_length_and_others_excluded(
    tmp_path: Path, make_grid: Callable, trial_of: Callable
) -> None:
    folder = make_grid(
        tmp_path / "g",
        [
            (trial_of("e3b", 0), {"win_rate": RISING}, "finished"),
            (trial_of("e3b", 1), {"win_rate": RISING[:6]}, "running"),
            (trial_of("none", 0), {"win_rate": [0.0] * 10}, "finished"),
            (trial_of("none", 1), {"win_rate": [0.5] * 9}, "failed"),
        ],
    )
    comparison = compared(folder)
    assert comparison.steps == {"MultiRoom-N6-Lava": 1000}
    assert comparison.partial == []
    assert comparison.runs("e3b", "MultiRoom-N6-Lava").tolist() == [1.0]
    assert comparison.runs("none", "MultiRoom-N6-Lava").tolist() == [0.0]
    assert [score.why_not for score in comparison.scores] == ["", "running at 600 steps", "", "failed at 900 steps"]


def test_unfinished_task_is_compared_at_equal_steps(tmp_path: Path, make_grid: Callable, trial_of: Callable) -> None:
    folder = make_grid(
        tmp_path / "g",
        [
            (trial_of("e3b", 0), {"win_rate": RISING[:8]}, "running"),
            (trial_of("e3b", 1), {"win_rate": RISING[:2]}, "running"),
            (trial_of("none", 0), {"win_rate": RISING[:5]}, "running"),
            (trial_of("none", 1), {"win_rate": RISING[:1]}, "failed"),
        ],
    )
    comparison = compared(folder)
    unit = "MultiRoom-N6-Lava"
    assert comparison.partial == [unit]
    assert comparison.steps[unit] == 500  # the furthest that both have reached
    assert comparison.runs("e3b", unit).tolist() == comparison.runs("none", unit).tolist() == [0.5]


def test_bonus_whose_trials_all_failed_does_not_shorten_the_comparison(
    tmp_path: Path, make_grid: Callable, trial_of: Callable
) -> None:
    folder = make_grid(
        tmp_path / "g",
        [
            (trial_of("e3b", 0), {"win_rate": RISING}, "finished"),
            (trial_of("none", 0), {"win_rate": RISING[:1]}, "failed"),
        ],
    )
    comparison = compared(folder)
    assert comparison.steps == {"MultiRoom-N6-Lava": 1000}
    assert comparison.common_methods == ["e3b"]


def test_aggregates_use_common_tasks_or_exclude_a_bonus(
    tmp_path: Path, make_grid: Callable, trial_of: Callable
) -> None:
    def grid(name: str, missing: str) -> GridFolder:
        """Three bonuses on four tasks, some of which the last bonus has not started."""
        trials = [
            (trial_of(bonus, 0, task=task), {"win_rate": RISING}, "finished")
            for bonus in ("none", "e3b", "e3b * rnd")
            for task in "ABCD"
            if bonus != "e3b * rnd" or task not in missing
        ]
        return make_grid(
            tmp_path / name, [*trials, *((trial_of("e3b * rnd", 0, task=task), {}, "waiting") for task in missing)]
        )

    half = compared(grid("half", "AB"))  # half of the tasks are enough for all bonuses to be compared
    assert (half.common_units, half.common_methods) == (["C", "D"], ["none", "e3b", "e3b * rnd"])
    quarter = compared(grid("quarter", "ABC"))
    assert (quarter.common_units, quarter.common_methods) == (["A", "B", "C", "D"], ["none", "e3b"])


def test_metric_is_the_first_that_exists() -> None:
    there = ["env_steps", "win_rate", "episode_rooms", "evaluation/greedy/win_rate"]
    assert choose_metric("episode_rooms", "win_rate", there) == "episode_rooms"
    assert choose_metric(None, "episode_rooms", there) == "episode_rooms"
    assert choose_metric(None, None, there) == "win_rate"
    assert choose_metric(None, "evaluation/sampled/rooms", there) == "episode_rooms"  # no evaluation yet
    assert choose_metric(None, None, ["env_steps", "episode_return"]) == "episode_return"
    assert choose_metric(None, None, []) == "win_rate"
    with pytest.raises(InvalidInput, match="did you mean episode_rooms"):
        choose_metric("episode_room", None, there)
    with pytest.raises(InvalidInput, match="no trial has a row yet"):
        choose_metric("episode_rooms", None, [])


def test_lower_is_better_where_the_table_says_so(tmp_path: Path, make_grid: Callable, trial_of: Callable) -> None:
    trials = [
        (trial_of(bonus, seed), {"policy_lag_updates": [value + seed] * 4}, "finished")
        for bonus, value in (("none", 1.0), ("e3b", 5.0))
        for seed in (0, 1)
    ]
    analysis = Analysis(*load(make_grid(tmp_path / "g", trials), lambda columns: "policy_lag_updates"))
    (cells,) = analysis.tasks.values()
    assert {name: cell.best for name, cell in cells.items() if cell} == {"none": True, "e3b": False}
    assert analysis.improvement["none", "e3b"].value == 1.0

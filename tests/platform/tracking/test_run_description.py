"""Grids and trials in MLflow's terms."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bonuslab.platform.pictures.palette import SCOPE_COLOURS
from bonuslab.platform.run.folder import GridDescription, TrialDescription
from bonuslab.platform.run.state import TrialState
from bonuslab.platform.tracking import run_description as words
from bonuslab.platform.tracking.comparison import view_state
from bonuslab.platform.tracking.identity import grid_identity

LABELS = {"task": "MultiRoom-N6-S5", "contexts": "inf", "bonus": "e3b * rnd", "scope": "combined", "seed": "0"}
TRIAL = TrialDescription("t", {"task": "MultiRoom-N6-S5", "seed": 0}, {}, LABELS)
COMMAND = {"command": "bonuslab grid --tracking-uri http://u:secret@h", "time": "2026", "git_commit": "abc"}
GRID = GridDescription("grid", "minihack_grid", "laptop", [TRIAL], [COMMAND], {"id": "1234"})


def test_trials_have_readable_names() -> None:
    assert words.trial_name(TRIAL) == "e3b * rnd · MultiRoom-N6-S5 · seed 0"
    few = replace(TRIAL, labels={**LABELS, "contexts": "3", "variant": "no clip"})
    assert words.trial_name(few) == "e3b * rnd · MultiRoom-N6-S5 · 3 contexts · no clip · seed 0"
    assert words.series(TRIAL) == "combined: e3b * rnd"
    assert words.series(few) == "combined: e3b * rnd (no clip)"
    assert words.series(replace(TRIAL, labels={"bonus": "none", "scope": "none"})) == "none"


def test_tags_hold_everything_but_secrets() -> None:
    tags = words.trial_tags(GRID, TRIAL, "1234", "t", "parent")
    expected = {"scale": "laptop", "experiment": "minihack_grid", "git_commit": "abc", "bonuslab.kind": "trial"}
    assert {**LABELS, **expected}.items() <= tags.items()
    assert tags["bonuslab.grid_run"] == "parent"
    assert "secret" not in str(words.grid_tags(GRID, "1234"))


def test_settings_are_flattened_and_shortened() -> None:
    config = {
        "seed": 3,
        "resources": None,
        "plugins": ["a.py", "b.py"],
        "hyperparameters": {"lr": 0.1},
        "env": {"max_steps": 200},
        "long": "x" * 10_000,
    }
    values = {"lr": 0.1, "gamma": 0.99, "clip_param": None}
    flat = words.parameters(replace(TRIAL, config=config, hyperparameters=values))
    assert flat.pop("long") == "x" * 6_000
    assert flat == {
        "seed": "3",
        "plugins": "a.py, b.py",
        "env.max_steps": "200",
        "hyperparameters.lr": "0.1",
        "hyperparameters.gamma": "0.99",
    }
    assert words.metric_name("term/noveld(c=0.1)/raw_mean") == "term/noveld_c_0.1_/raw_mean"


@pytest.mark.parametrize(
    ("status", "attempts", "driven", "mlflow_status"),
    [
        ("waiting", 0, True, None),
        ("waiting", 1, True, "SCHEDULED"),
        ("running", 1, True, "RUNNING"),
        ("running", 1, False, "KILLED"),
        ("finished", 1, False, "FINISHED"),
        ("failed", 3, True, "FAILED"),
    ],
)
def test_status_of_a_trial(status: str, attempts: int, driven: bool, mlflow_status: str | None) -> None:
    state = TrialState(status=status, attempts=attempts)  # type: ignore[arg-type]
    assert words.run_status(state, driven) == mlflow_status


def test_status_of_the_grid() -> None:
    finished, failed, waiting = (TrialState(status=status) for status in ("finished", "failed", "waiting"))
    assert words.grid_status([finished, waiting], True) == "RUNNING"
    assert words.grid_status([finished, waiting], False) == "KILLED"
    assert words.grid_status([finished, failed], True) == "FAILED"
    assert words.grid_status([finished], True) == "FINISHED"


def test_a_restarted_trial_is_another_one() -> None:
    assert grid_identity(GRID) == "1234"
    assert GRID.generation_id("t") == "t"
    assert replace(GRID, options={"generations": {"t": 2}}).generation_id("t") == "t.2"
    unnamed = replace(GRID, options={})
    later = replace(unnamed, commands=[{**COMMAND, "time": "2027"}])
    assert grid_identity(unnamed) != grid_identity(later)
    assert grid_identity(unnamed) == grid_identity(replace(unnamed, commands=[COMMAND, COMMAND]))


def test_comparison_begins_with_the_headline_metric() -> None:
    state = view_state(replace(GRID, options={"metric": "rooms"}), "1234")
    assert [chart["metricKey"] for chart in state["compareRunCharts"]][:2] == ["rooms", "win_rate"]
    assert state["groupBy"]["groupByKeys"] == [{"mode": "tag", "groupByData": "series"}]
    assert "'1234'" in state["searchFilter"]


def test_comparison_draws_evaluations_as_points() -> None:
    state = view_state(GRID, "1234")
    points = {chart["metricKey"]: chart["displayPoints"] for chart in state["compareRunCharts"]}
    assert points["evaluation/greedy/win_rate"] is True
    assert points["win_rate"] is False


def test_shares_are_drawn_from_0_to_1() -> None:
    ranges = {chart["metricKey"]: chart["range"] for chart in view_state(GRID, "1234")["compareRunCharts"]}
    assert ranges["win_rate"] == {"yMin": -0.02, "yMax": 1.02}
    assert ranges["episode_return"] == {}


def test_colours_are_those_of_the_figures() -> None:
    adaptive = replace(TRIAL, labels={**LABELS, "bonus": "adaptive(e3b, rnd)"})
    assert words.trial_tags(GRID, TRIAL, "1234", "t", "p")["mlflow.runColor"] == SCOPE_COLOURS["combined"]
    assert words.trial_tags(GRID, adaptive, "1234", "t", "p")["mlflow.runColor"] == SCOPE_COLOURS["adaptive"]

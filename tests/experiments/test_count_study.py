"""The count study's trials, and its tables and picture from a made-up grid."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bonuslab.envs.errors import InvalidInput
from bonuslab.experiments.count_study import EXPERIMENT, ROWS
from bonuslab.experiments.count_tables.cells import cells
from bonuslab.experiments.count_tables.rows import PAPER_ROWS, Row
from bonuslab.experiments.count_tables.write import write_study
from bonuslab.experiments.value_functions.prediction import read_outcomes
from bonuslab.platform.grid.search_results import Winner, Winners
from bonuslab.platform.report.comparison import compare
from bonuslab.platform.report.paper_numbers import RESULTS
from bonuslab.platform.report.trial_results import load
from bonuslab.platform.run.folder import GridDescription, GridFolder, TrialDescription
from bonuslab.platform.run.state import TrialState

FINAL = {"none": 0.0, "global": 0.2, "episodic": 0.9, "combined": 0.8}


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> GridFolder:
    """The minute scale, whose returns rise to `FINAL` (global: to 1 with a single context); one trial has failed."""
    trials = EXPERIMENT.scale("minute").trials()
    path = tmp_path_factory.mktemp("study") / "grid"
    command = {"command": "python count_study.py", "time": "2026-01-01", "git_commit": "abc", "versions": {"ray": "2"}}
    folder = GridFolder(path)
    folder.write(GridDescription("study", "count_study", "minute", trials, [command]))
    for number, trial in enumerate(trials):
        _play(folder, trial, failed=number == len(trials) - 1)
    return folder


def _play(folder: GridFolder, trial: TrialDescription, failed: bool) -> None:
    scope, seed = trial.labels["scope"], int(trial.labels["seed"])
    final = 1.0 if (scope, trial.labels["contexts"]) == ("global", "1") else FINAL[scope]
    steps = np.arange(1, 51) * 3_000
    lines = ["env_steps,episode_return,win_rate"]
    lines += [f"{step},{min(1.0, step / 75_000) * (final - 0.02 * seed)},{final}" for step in steps]
    own = folder.trial(trial.id)
    own.progress.write_text("\n".join(lines) + "\n")
    status = "failed" if failed else "finished"
    TrialState(status=status, env_steps=150_000, total_env_steps=150_000).write(own.state_file)


def test_every_row_of_the_papers_tables_is_a_trial_of_its_scale() -> None:
    wanted = {(result.task, result.contexts, result.feature, result.scope) for result in RESULTS}
    there = {
        (row.task, contexts, row.feature, scope)
        for row in PAPER_ROWS
        for contexts in row.contexts
        for scope in ("global", "episodic", "combined")
    }
    assert wanted <= there
    labels = [trial.labels for trial in EXPERIMENT.selected("paper", seeds=[0]).trials()]
    assert {label["variant"] for label in labels} == {"coefficient 0.1", "coefficient 1", "coefficient 10"}
    settings = sum(len(row.contexts) for row in PAPER_ROWS)
    without = [label for label in labels if label["bonus"] == "none"]
    assert len(without) == settings - 1  # with one coefficient only; that of N6-Lava, ∞, serves two features
    assert len(labels) == 3 * 3 * settings + len(without)


def test_the_laptop_scale_has_all_contexts_and_both_rules_of_adaptive() -> None:
    assert EXPERIMENT.scale("laptop").seeds == range(5)
    labels = [trial.labels for trial in EXPERIMENT.selected("laptop", seeds=[0]).trials()]
    positions = {
        (label["contexts"], label["bonus"])
        for label in labels
        if label["task"] == "MultiRoom-N8-S5" and "message" not in label["bonus"]
    }
    assert len(positions) == 5 * 6


def test_a_coefficient_that_is_set_holds_for_the_product_too() -> None:
    def coefficients(**changes: float) -> set[float]:
        trials = EXPERIMENT.selected("minute", seeds=[0], settings=changes).trials()
        return {trial.hyperparameters["coefficient"] for trial in trials}

    assert coefficients() == {0.015, 0.05}
    assert coefficients(coefficient=0.2) == {0.2}
    assert coefficients(gamma=0.9) == {0.015, 0.05}


def test_what_the_user_asks_for_is_trained_or_refused() -> None:
    trials = EXPERIMENT.selected("minute", bonuses=["none", "count.global"], seeds=[0]).trials()
    assert [trial.labels["scope"] for trial in trials] == ["none", "global"] * 2
    for axis, value in (("bonuses", "e3b"), ("contexts", "2"), ("tasks", "MultiRoom-N6-S5")):
        with pytest.raises(InvalidInput, match=f"--{axis} {value} has no trial"):
            EXPERIMENT.selected("minute", **{axis: [value]}).trials()


def test_settings_of_a_rows_environment_reach_its_trials_and_yield_to_the_users() -> None:
    def limits(**settings: object) -> set[object]:
        trials = EXPERIMENT.selected("laptop", seeds=[0], tasks=["Corridor-R3"], settings=settings).trials()
        return {trial.config["env"].get("max_steps") for trial in trials}

    assert limits() == {250}
    assert limits(env={"max_steps": 90}) == {90}


def test_the_minute_scale_spends_its_steps_on_new_maps() -> None:
    def lengths(**settings: object) -> dict[str, int]:
        trials = EXPERIMENT.selected("minute", seeds=[0], settings=settings).trials()
        return {trial.labels["contexts"]: trial.total_env_steps for trial in trials}

    assert lengths() == {"1": 90_000, "inf": 160_000}
    assert lengths(total_env_steps=2_048) == {"1": 2_048, "inf": 2_048}


def test_the_sweep_tries_some_scales_without_a_penalty() -> None:
    trials = EXPERIMENT.selected("sweep", seeds=[5]).trials()
    free = {trial.labels["variant"] for trial in trials if trial.config["env"].get("penalty_step") == 0}
    assert free == {"std 0.015, walls free", "none 0.1, walls free"}
    assert len(trials) == (9 + 2) * 2


def test_cells_hold_the_final_returns_beside_the_papers(grid: GridFolder) -> None:
    results, metric = load(grid, lambda columns: "episode_return")
    found = {(cell.contexts, cell.kind): cell for cell in cells(compare(results, metric), ROWS["minute"])}
    assert len(found) == 8
    assert found["1", "global"].values == pytest.approx((1.0, 0.98))
    paper = found["1", "global"].paper
    assert paper is not None
    assert (paper.mean, paper.std) == (0.99, 0.0)
    assert found["inf", "global"].mean == pytest.approx(0.19)
    assert found["inf", "global"].std == pytest.approx(0.02 / np.sqrt(2))
    assert found["inf", "none"].paper is None
    assert min(len(cell.values) for cell in found.values()) == 1  # the failed one


def test_of_several_coefficients_a_cell_holds_the_best(tmp_path: Path) -> None:
    row = Row("MultiRoom-N2-S4", ("1",), "position", "MultiRoom-N6-Lava")
    trials = [trial for trial in EXPERIMENT.selected("smoke").trials() if trial.labels["scope"] == "combined"]
    several = [
        replace(trial, id=f"{trial.id}-{variant}", labels=trial.labels | {"variant": variant})
        for trial in trials
        for variant in ("low", "high")
    ]
    folder = GridFolder(tmp_path / "grid")
    folder.write(GridDescription("study", "count_study", "smoke", several, []))
    for trial in several:
        own = folder.trial(trial.id)
        value = 0.9 if trial.labels["variant"] == "high" else 0.1
        own.progress.write_text(f"env_steps,episode_return\n5000,{value}\n10240,{value}\n")
        TrialState(status="finished", env_steps=10_240, total_env_steps=10_240).write(own.state_file)
    results, metric = load(folder, lambda columns: "episode_return")
    assert [cell.values for cell in cells(compare(results, metric), [row])] == [(0.9,)]
    assert cells(compare(results, metric), [row])[0].paper is None
    picture = write_study(folder, [row])
    assert picture is not None
    table = (picture.parent / "variants.md").read_text()
    assert "| low | 0.10 |\n| high | 0.90 |" in table


def test_variants_with_another_environment_are_no_part_of_the_tables(tmp_path: Path) -> None:
    (row,) = ROWS["sweep"]
    trials = EXPERIMENT.selected("sweep", seeds=[5], contexts=["1"]).trials()
    folder = GridFolder(tmp_path / "grid")
    folder.write(GridDescription("study", "count_study", "sweep", trials, []))
    assert write_study(folder, [row]) is None  # nothing is known yet
    for trial in trials:
        own = folder.trial(trial.id)
        value = 0.0 if trial.labels["variant"].endswith("free") else -0.5
        own.progress.write_text(f"env_steps,episode_return\n80000,{value}\n160000,{value}\n")
        TrialState(status="finished", env_steps=160_000, total_env_steps=160_000).write(own.state_file)
    results, metric = load(folder, lambda columns: "episode_return")
    assert [cell.values for cell in cells(compare(results, metric), [row])] == [(-0.5,)]
    picture = write_study(folder, [row])
    assert picture is not None
    assert "Of several variants a cell has the best" in (picture.parent / "table.md").read_text()
    with (picture.parent / "trials.csv").open(newline="") as file:
        written = {row["variant"]: (row["coefficient"], row["env"]) for row in csv.DictReader(file)}
    assert written["none 0.1, walls free"] == ("0.1", "stagger=True penalty_step=0.0")
    assert written["std 0.0015"] == ("0.0015", "stagger=True")


def test_the_study_is_written_and_read_back(grid: GridFolder) -> None:
    picture = write_study(grid, ROWS["minute"])
    assert picture is not None
    assert picture.stat().st_size > 10_000
    out = picture.parent
    table = (out / "table.md").read_text()
    assert "| MultiRoom-N8-S5 | positions | 1 |" in table
    assert "0.99 ± 0.01<br>*0.99 ± 0.00*" in table
    with (out / "trials.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 16
    assert {row["commit"] for row in rows} == {"abc"}
    assert {row["versions"] for row in rows} == {"ray 2"}
    with (out / "curves.csv").open(newline="") as file:
        points = [row for row in csv.DictReader(file) if row["id"] == rows[0]["id"]]
    assert len(points) == 40
    assert int(points[-1]["env_steps"]) == 150_000
    outcomes = read_outcomes(out / "trials.csv")
    best = [outcome.win_rate for outcome in outcomes if (outcome.scope, outcome.contexts) == ("episodic", None)]
    assert best
    assert set(best) == {0.9}


def test_a_search_replaces_the_rows_coefficients(tmp_path: Path) -> None:
    minute = EXPERIMENT.scale("minute")
    found = {"objective": 1.0, "episode_return": 0.9, "sample": 3, "ended": {"finished": 8}, "env": {}}
    settings = {"normalise": "none", "coefficient": 0.2}
    best = Winner("MultiRoom-N8-S5", "inf", "count.global", "count.global", settings, **found)
    (tmp_path / "winners.json").write_text(Winners([best], {"seeds": [101, 102]}, "", {}, []).text())
    searched = replace(minute, winners=tmp_path)
    for before, now in zip(minute.trials(), searched.trials(), strict=True):
        wins = (now.labels["bonus"], now.labels["contexts"]) == ("count.global", "inf")
        assert now.id == before.id
        assert now.hyperparameters == (before.hyperparameters | settings if wins else before.hyperparameters)


def test_only_winners_that_the_user_gives_must_fit_a_trial(tmp_path: Path) -> None:
    found = {"objective": 1.0, "episode_return": 0.9, "sample": 3, "ended": {"finished": 8}, "env": {}}
    best = Winner("KeyRoom-S5", "inf", "e3b", "e3b", {"normalise": "none", "coefficient": 0.2}, **found)
    (tmp_path / "winners.json").write_text(Winners([best], {"seeds": [101, 102]}, "", {}, []).text())
    minute = EXPERIMENT.scale("minute")
    assert replace(minute, winners=tmp_path).trials() == minute.trials()
    with pytest.raises(InvalidInput, match="are of other tasks, contexts and bonuses than these trials"):
        EXPERIMENT.selected("minute", winners=tmp_path).trials()


def test_the_search_uses_no_seed_of_any_scale() -> None:
    assert EXPERIMENT.search is not None
    EXPERIMENT.search.require_fresh([seed for scale in EXPERIMENT.scales.values() for seed in scale.seeds])

"""Every metric that is computed arrives: in the row, in progress.csv, in MLflow and on the board."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bonuslab.algorithms.rllib.metrics import GROUPS, METRICS, find, rank, values
from bonuslab.platform.board.curves import Curves
from bonuslab.platform.run.config import Config
from bonuslab.platform.run.folder import GridDescription, GridFolder, TrialDescription
from bonuslab.platform.run.results import row_of
from bonuslab.platform.run.rows import RowWriter, read_rows
from bonuslab.platform.run.state import TrialState
from bonuslab.platform.tracking.delivery import Delivery
from bonuslab.platform.tracking.store import DATABASE, store_of

PLUGIN = """
import torch
from bonuslab.algorithms.bonuses.algebra.base import Bonus
from bonuslab.algorithms.bonuses.algebra.registry import register

@register("probe")
class Probe(Bonus):
    \"\"\"A constant that reports what no table knows.\"\"\"

    scope = "global"
    equation = "1"
    when = "in tests"

    def compute(self, fragment):
        return torch.ones(fragment.action.shape, dtype=torch.float64)

    def learn(self, fragment):
        return {"surprise": 0.625, "undefined": float("nan")}
"""


@pytest.fixture(scope="module", params=["impala", "ddppo"])
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, dict[str, Any]]:
    """A serial algorithm, and the results of one iteration; a callback has logged two metrics of its own."""
    plugin = tmp_path_factory.mktemp("plugin") / "probe.py"
    plugin.write_text(PLUGIN)
    config = Config.of(
        "MultiRoom-N2-S4", bonus="probe * rnd", algorithm=request.param, serial=True, plugins=[str(plugin)]
    )
    algorithm = config.rllib().build_algo()
    algorithm.metrics.log_value("mine", 0.75, window=1)
    algorithm.metrics.log_value(("my_callback", "entropy"), 0.5, window=1)
    results = algorithm.train()
    algorithm.stop()
    return algorithm, results


def test_every_metric_of_learner_workers_and_bonus_is_in_the_row(trained: tuple[Any, dict[str, Any]]) -> None:
    algorithm, results = trained
    row = row_of(results, 2.0, algorithm.env_steps, algorithm.env_steps)
    logged = {
        name: value
        for section in (results["learners"]["default_policy"], results["bonus"], results.get("workers", {}))
        for name, value in section.items()
        if not math.isnan(value) and not name.startswith("num_trainable")
    }
    renamed = {"importance_weight_mean": "importance_weight", "default_optimizer_learning_rate": "learning_rate"}
    for name, value in logged.items():
        place = f"workers/{name}" if name in results.get("workers", {}) else renamed.get(name, name)
        assert row[place] == value, name
    assert {"advantage_mean", "advantage_std", "value_mean", "entropy", "gradient_norm"} <= row.keys()
    if "workers" in results:
        assert {"clipped_share", "workers/preempted_share", "workers/rollout_seconds_max"} <= row.keys()
    assert (row["mine"], row["my_callback/entropy"]) == (0.75, 0.5)
    assert row["learn/probe/surprise"] == 0.625
    assert row["env_steps_per_second"] == algorithm.env_steps / 2
    assert not any(math.isnan(value) for value in row.values())
    known = {name for name in row if find(name).group != GROUPS[-1]}
    assert row.keys() - known == {"mine", "my_callback/entropy"}, "RLlib's own timers and counters are left out"


def test_an_unknown_metric_arrives_everywhere(
    trained: tuple[Any, dict[str, Any]], tmp_path: Path, empty_database: Path
) -> None:
    algorithm, results = trained
    grid = GridFolder(tmp_path / "grid")
    labels = {"task": "MultiRoom-N2-S4", "bonus": "probe * rnd", "scope": "global", "seed": "0"}
    grid.write(GridDescription("grid", "probe", "laptop", [TrialDescription("one", {}, {}, labels)]))
    shutil.copy(empty_database, grid.path / DATABASE)
    (trial,) = grid.trials()
    steps = algorithm.env_steps
    RowWriter(trial.progress).append(row_of(results, 2.0, steps, steps) | {"wall_seconds": 2.0})
    TrialState("running", steps, 2 * steps, 2.0, 1).write(trial.state_file)
    assert {"mine": 0.75, "learn/probe/surprise": 0.625}.items() <= read_rows(trial.progress)[0].items()

    delivery = Delivery(grid, store_of(grid))
    assert delivery.deliver(driven=True) is None
    delivery.close()
    from bonuslab.platform.tracking.connection import MlflowClient

    client = MlflowClient(store_of(grid).uri)
    runs = client.search_runs([experiment.experiment_id for experiment in client.search_experiments()])
    (metrics,) = [run.data.metrics for run in runs if run.data.metrics]
    assert {"mine": 0.75, "learn/probe/surprise": 0.625}.items() <= metrics.items()

    curves = Curves(trial.progress)
    curves.refresh()
    shown = {column["name"]: column for column in curves.as_data("win_rate")["columns"]}
    assert (shown["mine"]["group"], shown["mine"]["last"]) == ("Other", 0.75)
    assert (shown["learn/probe/surprise"]["group"], shown["learn/probe/surprise"]["label"]) == (
        "Learning",
        "probe: surprise",
    )
    json.dumps(curves.as_data("win_rate"), allow_nan=False)


def test_a_name_that_is_taken_keeps_its_path() -> None:
    results = {
        "learners": {"default_policy": {"entropy": 1.0}},
        "bonus": {"entropy": 2.0},
        "env_runners": {"episode_metrics": {"coverage": 0.5}, "num_episodes": 3},
        "timers": {"training_step": 1.0},
        "done": True,
        "date": "today",
    }
    assert values(results) == {"entropy": 1.0, "bonus/entropy": 2.0, "episode_coverage": 0.5}


def test_the_table_is_whole() -> None:
    order = [GROUPS.index(metric.group) for metric in METRICS]
    assert order == sorted(order)
    assert all(metric.meaning.endswith(".") for metric in METRICS)
    assert all(metric.place for metric in METRICS if metric.gauge)
    for name in ("policy_lag_updates", "workers/rollout_seconds_max", "evaluation/greedy/coverage", "episode_rooms"):
        assert rank(name) < len(METRICS)
    assert (find("evaluation/greedy/coverage").unit, find("episode_rooms").higher_is_better) == ("share", True)


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("evaluation/greedy/win_rate", "win rate, greedy"),
        ("episode_return", "return"),
        ("term/e3b/raw_mean", "e3b"),
        ("learn/rnd/predictor_loss", "rnd: predictor loss"),
        ("montezuma/rooms_seen", "montezuma · rooms seen"),
        ("line\nbreak", "line\nbreak"),
    ],
)
def test_labels_are_plain(name: str, label: str) -> None:
    assert find(name).label == label


def test_importing_the_table_imports_neither_ray_nor_torch() -> None:
    code = "import sys, bonuslab.algorithms.rllib.metrics; print({'ray', 'torch'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"

"""Hours, processors and disk before a grid is started."""

from __future__ import annotations

import io
import json
import shutil
from collections import namedtuple
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from bonuslab.platform.grid import calibration as calibration_module
from bonuslab.platform.grid.calibration import Calibration, Speed, kind_of, measure_acting, measure_training
from bonuslab.platform.grid.cloud import NAME, CloudCluster
from bonuslab.platform.grid.cluster import Cluster
from bonuslab.platform.grid.experiment import Point, Scale
from bonuslab.platform.grid.forecast import (
    Forecast,
    Kinds,
    demand,
    demand_text,
    disk_problem,
    extrapolated,
    on_one_core,
    planned,
    processor_problem,
    slots_for,
)
from bonuslab.platform.grid.plan_table import beside_plan, print_plan, summary
from bonuslab.platform.grid.resources import TrialResources
from bonuslab.platform.run.config import Config
from bonuslab.platform.run.folder import TrialDescription

HERE = Cluster(None, 2.0, 0.0, [{"CPU": 2.0, "GPU": 0.0}])
TWO_MACHINES = Cluster("10.0.0.1:6379", 16.0, 2.0, [{"CPU": 0.0, "GPU": 0.0}, *[{"CPU": 8.0, "GPU": 1.0}] * 2])
SCALE = Scale("", ["MultiRoom-N2-S4", "KeyRoom-S5"], ["none", "e3b"], [0, 1, 2], settings={"total_env_steps": 1_000})


class KnownSpeeds(Calibration):
    """100 steps/s with no bonus, 50 with one; checkpoints of 10 MB."""

    def __init__(self) -> None:
        """Nothing is read or measured."""

    def known(self, config: Config) -> Speed | None:
        return Speed(100.0 if config.bonus == "none" else 50.0, 2.0, 10_000_000)


def forecast(scale: Scale = SCALE, cluster: Cluster = HERE, concurrent: int | None = None) -> Forecast:
    trials = scale.trials()
    slots = slots_for(trials, scale.resources, cluster, concurrent)
    return Forecast(planned(trials, Kinds(trials), KnownSpeeds()), scale.resources, cluster, slots)


def test_hours_and_disk() -> None:
    found = forecast()
    assert [trial.seconds for trial in found.trials[:4]] == [12.0, 22.0, 12.0, 22.0]
    assert found.slots == 2
    assert found.seconds == schedule([trial.seconds for trial in found.trials], 2)
    assert found.seconds >= sum(trial.seconds for trial in found.trials) / 2
    assert forecast(concurrent=1).seconds == 6 * (12 + 22)
    assert found.checkpoint_bytes == (12 + 2) * 10_000_000


def schedule(seconds: list[float], slots: int) -> float:
    """Second by second."""
    waiting, running, now = list(seconds), [0.0] * slots, 0.0
    while waiting or any(left > 0 for left in running):
        for slot, left in enumerate(running):
            if left <= 0 and waiting:
                running[slot] = waiting.pop(0)
        running = [left - 1 for left in running]
        now += 1
    return now


def test_the_plan_in_words() -> None:
    file = io.StringIO()
    print_plan(forecast(), "measured on MultiRoom-N2-S4", file)
    lines = file.getvalue().splitlines()
    assert lines[2].split() == ["none", "none", "MultiRoom-N2-S4", "inf", "0-2", "1,000", "100", "0:12"]
    assert "12 trials, 12,000 steps; 1 CPU per trial, 2 concurrently on this machine (2 CPUs and 0 GPUs)" in lines
    assert any(line.startswith("disk   0.1 GB of checkpoints") for line in lines)


def test_processors_that_are_not_there() -> None:
    def trials(cpus: int, gpus: float) -> list[TrialDescription]:
        resources = TrialResources(cpus, gpus)
        return Scale("", ["KeyRoom-S5"], ["none"], range(9), settings=SCALE.settings, resources=resources).trials()

    def problem(cpus: int, gpus: float, cluster: Cluster) -> str | None:
        return processor_problem(trials(cpus, gpus), TrialResources(cpus, gpus), cluster)

    assert problem(1, 0.0, HERE) is None
    assert "a trial needs 8 CPUs, but this machine has 2" in str(problem(8, 0.0, HERE))
    assert "but this machine has 0" in str(problem(2, 0.5, HERE))
    assert problem(8, 0.5, TWO_MACHINES) is None
    assert "the cluster has at most 16" in str(problem(20, 0.0, TWO_MACHINES))
    growing = Cluster("10.0.0.1:6379", 100.0, 4.0, TWO_MACHINES.nodes, autoscaling=True)
    assert problem(20, 0.0, growing) is None
    assert slots_for(trials(8, 0.0), TrialResources(8, 0.0), TWO_MACHINES) == 2
    assert slots_for(trials(3, 0.5), TrialResources(3, 0.5), TWO_MACHINES) == 4
    assert slots_for(trials(1, 0.0), TrialResources(1, 0.0), TWO_MACHINES) == 9


def test_a_disk_that_is_too_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    assert disk_problem(forecast(), tmp_path / "runs" / "new", None) is None
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**12, 0, 100_000_000))
    assert "needs about 0.2 GB" in str(disk_problem(forecast(), tmp_path / "runs" / "new", None))
    assert disk_problem(forecast(), tmp_path, "s3://bucket") is None
    assert "where 0.1 GB are free" in str(disk_problem(forecast(), tmp_path, str(tmp_path / "store")))


def test_kinds_differ_in_what_makes_them_slow() -> None:
    trials = SCALE.trials()
    kinds = Kinds(trials)
    assert len({kinds.key(trial) for trial in trials}) == 2
    assert set(kinds.known(KnownSpeeds())) == {kinds.key(trial) for trial in trials}
    kind = kind_of(trials[-1], trials[0])
    assert (kind["seed"], kind["task"], kind["hyperparameters"]) == (0, "MultiRoom-N2-S4", {})


def test_a_kind_has_the_settings_of_the_environment_it_is_measured_in() -> None:
    def settings(point: Point) -> dict[str, Any]:
        return {"env": {"max_steps": 250, "winnable_within": 200} if point.contexts == "1" else {}}

    scale = Scale("", ["KeyRoom-S5"], ["none"], [0], ["inf", "1"], settings=SCALE.settings, adjust=settings)
    assert [kind.env for kind in Kinds(scale.trials()).all] == [{}]


def test_a_measurement_is_real_and_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: ModuleType
) -> None:
    monkeypatch.setattr(calibration_module, "MIN_SECONDS", 0.05)
    config = Config("MultiRoom-N2-S4", "rnd", serial=True, hyperparameters=tiny.SMALL)
    measured: dict[str, Any] = measure_training(config, TrialResources())
    assert measured["steps_per_second"] > 1
    assert measured["checkpoint_bytes"] > 100_000
    acting = measure_acting(config, TrialResources())
    assert acting["steps_per_second"] > 1
    assert acting["checkpoint_bytes"] > 100_000
    file = tmp_path / "cache" / "calibration.json"
    calibration = Calibration(HERE, TrialResources(), file)
    assert calibration.known(config) is None
    calibration._remember(calibration._key(config), measured)
    assert calibration.known(config) == Speed(**measured)
    assert Calibration(TWO_MACHINES, TrialResources(), file).known(config) is None, "another machine"
    file.write_text("{ torn")
    assert calibration.known(config) is None
    size = calibration.checkpoint_bytes(config)
    assert measured["checkpoint_bytes"] < size < 2 * measured["checkpoint_bytes"]
    assert size in json.loads(file.read_text()).values()


def test_every_kind_is_measured_beside_as_many_others_as_in_the_grid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in for Ray: of the running measurements, the oldest ends first."""
    running: list[tuple[str, int]] = []
    load: dict[str, int] = {}
    numbers = count()

    def start(config: Config, resources: TrialResources, group: Any, acting_only: bool) -> tuple[str, int]:
        running.append((config.bonus, next(numbers)))
        return running[-1]

    def wait(tasks: list[Any], num_returns: int) -> tuple[list[Any], list[Any]]:
        load.setdefault(tasks[0][0], len(tasks))
        running.remove(tasks[0])
        return [tasks[0]], tasks[1:]

    cancelled: list[Any] = []
    speed = {"steps_per_second": 1.0, "seconds_to_start": 1.0, "checkpoint_bytes": 1}
    stand_in = SimpleNamespace(wait=wait, get=lambda task: speed, cancel=lambda task, force: cancelled.append(task))
    monkeypatch.setattr(calibration_module, "ray", stand_in)
    monkeypatch.setattr(calibration_module, "_start", start)
    monkeypatch.setattr(calibration_module, "remove_placement_group", lambda group: None)
    monkeypatch.setattr(TrialResources, "request", lambda self, config: lambda: None)
    kinds = [Config("MultiRoom-N2-S4", bonus, serial=True) for bonus in ("none", "rnd", "e3b", "ngu", "ride")]
    calibration = Calibration(HERE, TrialResources(), tmp_path / "cache.json", concurrent=3)
    calibration.measure(kinds, lambda text: None)
    assert load == dict.fromkeys(("none", "rnd", "e3b", "ngu", "ride"), 3)
    assert all(calibration.known(kind) for kind in kinds)
    assert len(cancelled) == 2, "those that ran only beside the last"
    alone = Calibration(HERE, TrialResources(), tmp_path / "cache.json", concurrent=1)
    assert alone.known(kinds[0]) is None, "another load, another speed"


def test_table_and_error_name_the_same_processors() -> None:
    resources = TrialResources(6, 0.5)
    trials = Scale("", ["KeyRoom-S5"], ["none"], [0], settings=SCALE.settings, resources=resources).trials()
    needs = demand(trials[0], resources)
    text = demand_text(trials[0], resources)
    assert text == f"{needs['CPU']:g} CPUs and 0.5 GPU"
    assert f"a trial needs {needs['CPU']:g} CPUs, but" in str(processor_problem(trials, resources, HERE))
    lines = summary(Forecast(planned(trials, Kinds(trials), KnownSpeeds()), resources, TWO_MACHINES, 1), "")
    assert f"; {text} per trial" in lines[0]


def test_cost_of_the_cluster_of_the_repository() -> None:
    cloud = CloudCluster.read()
    assert cloud is not None
    cluster = cloud.cluster()
    assert (cluster.cpus, cluster.gpus) == (20 * 32 + 8 * 48, 32)
    assert cloud.dollars_per_hour(0, 0) == pytest.approx(0.20)
    assert cloud.dollars_per_hour(40, 2) == pytest.approx(0.20 + 5.67)  # one GPU machine has 48 CPUs
    assert cloud.dollars_per_hour(100, 2) == pytest.approx(0.20 + 5.67 + 2 * 1.43)
    assert cloud.dollars_per_hour(1e6, 1e6) == pytest.approx(0.20 + 8 * 5.67 + 20 * 1.43)
    assert CloudCluster.read(Path("/none/cluster.yaml")) is None


def test_a_larger_cluster_is_forecast_from_one_core() -> None:
    trials = SCALE.trials()
    (first, *_) = planned(on_one_core(trials), Kinds(on_one_core(trials)), KnownSpeeds())
    grown = extrapolated(first, trials[0], 5)
    assert grown.description is trials[0]
    assert grown.seconds == pytest.approx(2.0 + 1_000 / 500)
    lines = summary(replace(forecast(), dollars_per_hour=2.0, cluster=Cluster(NAME, 832, 16, [], True)), "extrapolated")
    assert "on the cluster of deploy/cluster.yaml (up to 832 CPUs and 16 GPUs)" in lines[0]
    assert any(line.startswith("cost   about $0 at list prices ($2.00 per hour)") for line in lines)


def test_what_a_run_took_beside_the_plan() -> None:
    assert beside_plan(100.0, 150.0) == "2:30 of wall time, planned 1:40 (1.50 times the plan)"
    assert beside_plan(None, 150.0).startswith("2:30 of wall time (no plan: --plan")
    assert beside_plan(100.0, 30.0, stopped=True) == "0:30 of wall time until it stopped (plan: 1:40)"

"""Hours, processors and disk before a grid is started."""

from __future__ import annotations

import io
import json
import shutil
from collections import namedtuple
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bonuslab.platform.grid import calibration as calibration_module
from bonuslab.platform.grid.calibration import Calibration, Speed, kind_of, measure_training
from bonuslab.platform.grid.cluster import Cluster
from bonuslab.platform.grid.experiment import Scale
from bonuslab.platform.grid.forecast import Forecast, Kinds, disk_problem, planned, processor_problem, slots_for
from bonuslab.platform.grid.plan_table import print_plan
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
    print_plan(forecast(), "MultiRoom-N2-S4", file)
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


def test_a_measurement_is_real_and_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: ModuleType
) -> None:
    monkeypatch.setattr(calibration_module, "MIN_SECONDS", 0.05)
    config = Config("MultiRoom-N2-S4", "rnd", serial=True, hyperparameters=tiny.SMALL)
    measured: dict[str, Any] = measure_training(config, TrialResources())
    assert measured["steps_per_second"] > 1
    assert measured["checkpoint_bytes"] > 100_000
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

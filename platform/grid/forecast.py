"""Predicts the processors, hours and disk space that a grid needs, and whether they are available."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os.path import expanduser
from pathlib import Path

from bonuslab.platform.grid.calibration import Calibration, Speed, kind_of
from bonuslab.platform.grid.cluster import Cluster
from bonuslab.platform.grid.resources import TrialResources
from bonuslab.platform.run.checkpoints import KEPT_CHECKPOINTS
from bonuslab.platform.run.config import Config
from bonuslab.platform.run.folder import TrialDescription
from bonuslab.platform.run.training import steps_per_row

BYTES_PER_ROW = 600
BYTES_PER_VIDEO = 2_000_000
KINDS = ("CPU", "GPU")


@dataclass(frozen=True)
class PlannedTrial:
    """A trial with its forecast."""

    description: TrialDescription
    steps: int
    rows: int
    speed: Speed | None
    """Measured with its bonus on the grid's first task; None if not measured."""
    checkpoint_bytes: int

    @property
    def seconds(self) -> float:
        """Predicted duration."""
        if self.speed is None:
            return math.inf
        return self.speed.seconds_to_start + self.steps / self.speed.steps_per_second


@dataclass(frozen=True)
class Forecast:
    """Forecast of a whole grid."""

    trials: list[PlannedTrial]
    resources: TrialResources
    cluster: Cluster
    slots: int
    """Concurrent trials."""
    dollars_per_hour: float | None = None
    """List price of the machines that the concurrent trials need, where it is known."""

    @property
    def seconds(self) -> float:
        """Time until the last trial ends; trials start in order as slots become free."""
        ends = [0.0] * self.slots
        for trial in self.trials:
            ends.sort()
            ends[0] += trial.seconds
        return max(ends)

    @property
    def checkpoint_bytes(self) -> int:
        """One checkpoint per trial, and `KEPT_CHECKPOINTS` per running trial."""
        sizes = [trial.checkpoint_bytes for trial in self.trials]
        return sum(sizes) + (KEPT_CHECKPOINTS - 1) * self.slots * max(sizes, default=0)

    @property
    def other_bytes(self) -> int:
        """Rows and videos, stored twice: in the folder and in MLflow."""
        return sum(2 * (trial.rows * BYTES_PER_ROW + BYTES_PER_VIDEO) for trial in self.trials)


def demand(trial: TrialDescription, resources: TrialResources) -> dict[str, float]:
    """CPUs and GPUs that Ray reserves for a trial; fewer than `resources` where these do not divide evenly."""
    bundles = resources.request(trial.config).bundles
    return {kind: sum(bundle.get(kind, 0.0) for bundle in bundles) for kind in KINDS}


def demand_text(trial: TrialDescription, resources: TrialResources) -> str:
    """`5 CPUs and 0.5 GPU`."""
    cpus, gpus = demand(trial, resources).values()
    text = f"{cpus:g} CPU{'s' if cpus != 1 else ''}"
    return f"{text} and {gpus:g} GPU{'s' if gpus > 1 else ''}" if gpus else text


class Kinds:
    """The kinds of trials in a grid; see `kind_of`."""

    def __init__(self, trials: Sequence[TrialDescription]) -> None:
        self._first = trials[0]
        self._found: dict[str, Config] = {}
        for trial in trials:
            if (key := self.key(trial)) not in self._found:
                self._found[key] = Config.from_dict(kind_of(trial, self._first))

    def key(self, trial: TrialDescription) -> str:
        """Equal for trials of the same kind."""
        return json.dumps(kind_of(trial, self._first), sort_keys=True)

    @property
    def all(self) -> list[Config]:
        """Every kind."""
        return list(self._found.values())

    def known(self, calibration: Calibration) -> dict[str, Speed | None]:
        """Cached measurements by key."""
        return {key: calibration.known(kind) for key, kind in self._found.items()}

    def unknown(self, calibration: Calibration) -> list[Config]:
        """Kinds that have not been measured."""
        return [kind for kind in self._found.values() if calibration.known(kind) is None]


def planned(
    trials: Sequence[TrialDescription], kinds: Kinds, calibration: Calibration, checkpoint_bytes: int = 0
) -> list[PlannedTrial]:
    """Trials with their forecasts; `checkpoint_bytes` is used for kinds that were not measured."""
    speeds = kinds.known(calibration)
    found = []
    for trial in trials:
        speed, steps = speeds[kinds.key(trial)], trial.total_env_steps
        rows = math.ceil(steps / steps_per_row(Config.from_dict(trial.config).values))
        found.append(PlannedTrial(trial, steps, rows, speed, speed.checkpoint_bytes if speed else checkpoint_bytes))
    return found


def on_one_core(trials: Sequence[TrialDescription]) -> list[TrialDescription]:
    """The same trials in one process each, to be measured where their workers do not fit."""
    return [replace(trial, config={**trial.config, "serial": True}) for trial in trials]


def extrapolated(trial: PlannedTrial, original: TrialDescription, cpus: float) -> PlannedTrial:
    """A trial measured on one core, as if its speed grew with its CPUs: acting does, and a GPU learns meanwhile."""
    speed = trial.speed and replace(trial.speed, steps_per_second=trial.speed.steps_per_second * cpus)
    return replace(trial, description=original, speed=speed)


def processor_problem(trials: Sequence[TrialDescription], resources: TrialResources, cluster: Cluster) -> str | None:
    """Why not even one trial fits, if so: Ray would wait for resources forever."""
    bundles = resources.request(trials[0].config).bundles
    there = dict(zip(KINDS, (cluster.cpus, cluster.gpus), strict=True))
    for kind, needed in demand(trials[0], resources).items():
        largest = max(bundle.get(kind, 0.0) for bundle in bundles)
        if needed > there[kind]:
            where = "this machine has" if cluster.address is None else "the cluster has at most"
            return (
                f"a trial needs {needed:g} {kind}{'s' if needed > 1 else ''}, but {where} {there[kind]:g}; "
                "change --cpus-per-trial or --gpus-per-trial"
            )
        if not cluster.autoscaling and largest > max(node[kind] for node in cluster.nodes):
            return f"a trial needs {largest:g} {kind}s on one machine, and no machine has that many"
    return None


def disk_problem(forecast: Forecast, folder: Path, storage: str | None) -> str | None:
    """Why the disk is too small, if so; object stores are assumed to be large enough."""
    needs: dict[Path, int] = {_existing(folder): forecast.other_bytes}
    if storage is None or "://" not in storage:
        path = _existing(folder if storage is None else Path(storage))
        needs[path] = needs.get(path, 0) + forecast.checkpoint_bytes
    for path, needed in needs.items():
        free = shutil.disk_usage(path).free
        if needed > free:
            return f"the grid needs about {gigabytes(needed)} in {path}, where {gigabytes(free)} are free"
    return None


def slots_for(
    trials: Sequence[TrialDescription], resources: TrialResources, cluster: Cluster, concurrent: int | None = None
) -> int:
    """Number of trials that run concurrently: as many as fit, at most `concurrent`."""
    needs = demand(trials[0], resources)
    slots = len(trials) if concurrent is None else min(len(trials), concurrent)
    for kind, there in zip(KINDS, (cluster.cpus, cluster.gpus), strict=True):
        if needs[kind]:
            slots = min(slots, int(there / needs[kind] + 1e-9))
    return max(1, slots)


def gigabytes(number: float) -> str:
    """A size in GB or MB."""
    return f"{number / 1e9:,.1f} GB" if number >= 1e8 else f"{number / 1e6:,.0f} MB"


def _existing(path: Path) -> Path:
    path = Path(expanduser(path)).absolute()
    return path if path.exists() else _existing(path.parent)

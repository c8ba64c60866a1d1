"""Speed and checkpoint size of trials on this hardware: measured by training briefly, and cached."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import ray
import torch
from ray.util.placement_group import PlacementGroup, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from bonuslab.algorithms.extensions import capture, install
from bonuslab.platform.grid.cluster import Cluster
from bonuslab.platform.grid.resources import TrialResources
from bonuslab.platform.run.config import Config
from bonuslab.platform.run.folder import TrialDescription
from bonuslab.platform.run.ray_session import silence_notices
from bonuslab.platform.run.state import write_text
from bonuslab.platform.run.versions import versions

MIN_SECONDS = 4.0
"""Measured training time, after a warm-up iteration; at least one iteration."""
GROWTH_BY_TRAINING = 3
"""Before the first update, a checkpoint lacks the optimisers' two moments per weight."""


@dataclass(frozen=True)
class Speed:
    """Measurements of one kind of trial."""

    steps_per_second: float
    seconds_to_start: float
    checkpoint_bytes: int


class Calibration:
    """Measurements per kind of trial, cached per user, hardware and package versions."""

    def __init__(self, cluster: Cluster, resources: TrialResources, file: Path | None = None) -> None:
        self._file = file or cache_file()
        self._cluster = cluster
        self._resources = resources
        self._machine = [platform.machine(), _processor(), cluster.nodes, versions()]

    def known(self, config: Config) -> Speed | None:
        """A cached measurement, if any."""
        found = self._read().get(self._key(config))
        return Speed(**found) if found else None

    def measure(self, kinds: Sequence[Config], show: Callable[[str], None]) -> None:
        """Train each kind briefly, as many at once as the grid would, and cache the results."""
        running = {}
        for config in kinds:
            group = self._resources.request(config.as_dict())()
            running[_start(config, self._resources, group)] = (config, group)
        total = len(running)
        while running:
            show(f"measuring speed: {total - len(running)} of {total} kinds of trials done")
            (done,), _ = ray.wait(list(running), num_returns=1)
            config, group = running.pop(done)
            self._remember(self._key(config), ray.get(done))
            remove_placement_group(group)

    def checkpoint_bytes(self, config: Config) -> int:
        """Approximate size of a checkpoint: cached, or estimated from one written now."""
        key = f"{self._key(config)} checkpoint"
        found = self._read().get(key)
        if found is None:
            algorithm = replace(config, serial=True).rllib().build_algo()
            try:
                found = GROWTH_BY_TRAINING * _checkpoint_bytes(algorithm)
            finally:
                algorithm.stop()
            self._remember(key, found)
        return int(found)

    def _remember(self, key: str, value: Any) -> None:
        """Cache a value; if that fails, it is only measured again."""
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_text(self._file, json.dumps({**self._read(), key: value}, indent=1) + "\n")

    def _read(self) -> dict[str, Any]:
        try:
            return json.loads(self._file.read_text())
        except (OSError, ValueError):
            return {}

    def _key(self, config: Config) -> str:
        parts = [self._machine, vars(self._resources), config.as_dict(), vars(config.values)]
        return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def kind_of(trial: TrialDescription, first: TrialDescription) -> dict[str, Any]:
    """The configuration that represents a trial's kind: trials differing only in task, seed, contexts and length.

    It is measured on the task and contexts of the grid's `first` trial.
    """
    changes = {name: value for name, value in trial.config["hyperparameters"].items() if name != "total_env_steps"}
    shared = {"task": first.config["task"], "contexts": first.config["contexts"], "seed": 0}
    unset = {"evaluate_every_steps": 0, "checkpoint_every_steps": None}
    return {**trial.config, **shared, "hyperparameters": changes, **unset}


def cache_file() -> Path:
    """Path of the cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bonuslab" / "calibration.json"


def measure_training(config: Config, resources: TrialResources) -> dict[str, Any]:
    """Fields of a `Speed`, measured by training for a few seconds."""
    silence_notices()
    if config.serial:
        torch.set_num_threads(1)
    started = time.perf_counter()
    algorithm = resources.configure(config).build_algo()
    try:
        algorithm.train()
        begun, before = time.perf_counter(), algorithm.env_steps
        while time.perf_counter() - begun < MIN_SECONDS:
            algorithm.train()
        speed = (algorithm.env_steps - before) / (time.perf_counter() - begun)
        return asdict(Speed(speed, begun - started, _checkpoint_bytes(algorithm)))
    finally:
        algorithm.stop()


def _checkpoint_bytes(algorithm: Any) -> int:
    with tempfile.TemporaryDirectory() as scratch:
        algorithm.save_to_path(Path(scratch).resolve() / "checkpoint")
        return sum(path.stat().st_size for path in Path(scratch).rglob("*") if path.is_file())


def _start(config: Config, resources: TrialResources, group: PlacementGroup) -> Any:
    """Start the measurement as a Ray task, with the resources of a trial."""
    strategy = PlacementGroupSchedulingStrategy(group, 0, placement_group_capture_child_tasks=True)
    first = group.bundle_specs[0]
    task = ray.remote(_measured).options(
        num_cpus=first.get("CPU", 0), num_gpus=first.get("GPU", 0), scheduling_strategy=strategy, max_retries=0
    )
    return task.remote(config.as_dict(), vars(resources), capture())


def _measured(config: dict[str, Any], resources: dict[str, Any], extensions: bytes | None) -> dict[str, Any]:
    install(extensions)
    return measure_training(Config.from_dict(config), TrialResources(**resources))


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")

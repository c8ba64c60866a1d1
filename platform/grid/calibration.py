"""Speed and checkpoint size of trials on this hardware: measured by training briefly, and cached."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import Any

import ray
import torch
from ray.util.placement_group import PlacementGroup, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from bonuslab.algorithms.data.small_files import DamagedFile, fits, read_json, typed
from bonuslab.algorithms.extensions import capture, install
from bonuslab.envs.scratch import scratch_folder
from bonuslab.platform.grid.cluster import Cluster
from bonuslab.platform.grid.resources import TrialResources
from bonuslab.platform.run.config import Config
from bonuslab.platform.run.folder import TrialDescription
from bonuslab.platform.run.machine import processor
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

    def __init__(
        self,
        cluster: Cluster,
        resources: TrialResources,
        file: Path | None = None,
        concurrent: int = 1,
        acting_only: bool = False,
    ) -> None:
        """`concurrent`: trials that run beside each other in the grid and here; `acting_only`: see `measure_acting`."""
        self._file = file or cache_file()
        self._resources = resources
        self._concurrent = concurrent
        self._acting_only = acting_only
        self._machine = [platform.machine(), processor(), cluster.nodes, versions(), concurrent, acting_only]

    def known(self, config: Config) -> Speed | None:
        """A cached measurement, if any."""
        found = self._read().get(self._key(config))
        with suppress(DamagedFile):
            return typed(Speed, found, self._file)
        return None

    def measure(self, kinds: Sequence[Config], show: Callable[[str], None]) -> None:
        """Train each kind briefly and cache the results.

        As many trials run at once as in the grid, to the end: when the last kinds are measured, others run again beside
        them, or they would have an emptying machine to themselves.
        """
        waiting, left, beside = list(kinds), len(kinds), cycle(kinds)
        running: dict[Any, tuple[Config, PlacementGroup, bool]] = {}
        try:
            while left:
                show(f"measuring speed: {len(kinds) - left} of {len(kinds)} kinds of trials done")
                while len(running) < self._concurrent:
                    is_measured = bool(waiting)
                    config = waiting.pop(0) if waiting else next(beside)
                    group = self._resources.request(config.as_dict())()
                    running[_start(config, self._resources, group, self._acting_only)] = (config, group, is_measured)
                (done,), _ = ray.wait(list(running), num_returns=1)
                config, group, is_measured = running.pop(done)
                remove_placement_group(group)
                if is_measured:
                    self._remember(self._key(config), ray.get(done))
                    left -= 1
        finally:
            for task, (_, group, _) in running.items():
                ray.cancel(task, force=True)
                remove_placement_group(group)  # with the workers that the trial has started

    def checkpoint_bytes(self, config: Config) -> int:
        """Approximate size of a checkpoint: cached, or estimated from one written now."""
        key = f"{self._key(config)} checkpoint"
        found = self._read().get(key)
        if not fits(found, int):
            algorithm = replace(config, serial=True).rllib().build_algo()
            try:
                found = GROWTH_BY_TRAINING * _checkpoint_bytes(algorithm)
            finally:
                algorithm.stop()
            self._remember(key, found)
        return int(found)  # type: ignore[arg-type]

    def _remember(self, key: str, value: Any) -> None:
        """Cache a value; if that fails, it is only measured again."""
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_text(self._file, json.dumps({**self._read(), key: value}, indent=1) + "\n")

    def _read(self) -> dict[str, Any]:
        try:
            values = read_json(self._file)
        except (DamagedFile, FileNotFoundError):
            return {}
        return values if isinstance(values, dict) else {}

    def _key(self, config: Config) -> str:
        parts = [self._machine, vars(self._resources), config.as_dict(), vars(config.values)]
        return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def kind_of(trial: TrialDescription, first: TrialDescription) -> dict[str, Any]:
    """The configuration that represents a trial's kind: trials differing only in environment, seed and length.

    It is measured in the environment of the grid's `first` trial: another task's settings may not fit it.
    """
    changes = {name: value for name, value in trial.config["hyperparameters"].items() if name != "total_env_steps"}
    shared = {name: first.config[name] for name in ("task", "contexts", "env")} | {"seed": 0}
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


def measure_acting(config: Config, resources: TrialResources) -> dict[str, Any]:
    """The same of acting alone, in steps per second of one core's time: where a GPU learns, CPUs only act."""
    silence_notices()
    torch.set_num_threads(1)
    started = time.perf_counter()
    algorithm = resources.configure(config).build_algo()
    try:
        runner = algorithm.env_runner
        runner.sample()
        ready, begun, fragments = time.perf_counter(), time.process_time(), 0
        while time.process_time() - begun < MIN_SECONDS:
            runner.sample()
            fragments += 1
        steps = fragments * config.values.rollout_fragment_length * config.values.num_envs_per_env_runner
        speed = steps / (time.process_time() - begun)
        return asdict(Speed(speed, ready - started, GROWTH_BY_TRAINING * _checkpoint_bytes(algorithm)))
    finally:
        algorithm.stop()


def _checkpoint_bytes(algorithm: Any) -> int:
    with scratch_folder() as scratch:
        algorithm.save_to_path(scratch.resolve() / "checkpoint")
        return sum(path.stat().st_size for path in scratch.rglob("*") if path.is_file())


def _start(config: Config, resources: TrialResources, group: PlacementGroup, acting_only: bool) -> Any:
    """Start the measurement as a Ray task, with the resources of a trial."""
    strategy = PlacementGroupSchedulingStrategy(group, 0, placement_group_capture_child_tasks=True)
    first = group.bundle_specs[0]
    task = ray.remote(_measured).options(
        num_cpus=first.get("CPU", 0), num_gpus=first.get("GPU", 0), scheduling_strategy=strategy, max_retries=0
    )
    return task.remote(config.as_dict(), vars(resources), capture(), acting_only)


def _measured(
    config: dict[str, Any], resources: dict[str, Any], extensions: bytes | None, acting_only: bool
) -> dict[str, Any]:
    install(extensions)
    measure = measure_acting if acting_only else measure_training
    return measure(Config.from_dict(config), TrialResources(**resources))

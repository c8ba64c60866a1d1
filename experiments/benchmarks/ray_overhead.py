"""What Ray costs on one machine: CPU time per step and steps per second of the `laptop` layout beside serial mode."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from bonuslab.experiments.benchmarks.measurement import Measurement
from bonuslab.experiments.benchmarks.process_memory import DRIVER, usage_by_role
from bonuslab.platform.run.config import Config
from bonuslab.platform.run.ray_session import cluster_address, ray_session, silence_notices

TASK = "MultiRoom-N8-S5"
BONUSES = ("count.episodic(position)", "e3b * rnd")
WARM_UP_UPDATES = 5
TURNS = 4


def run(quick: bool) -> list[Measurement]:
    """Both sides train in turns; each counts the CPU time of all its processes, Ray's own among them."""
    silence_notices()
    torch.set_num_threads(1)
    updates, turns = (10, 2) if quick else (40, TURNS)
    rows = []
    with ray_session(cluster_address()):
        for bonus in BONUSES[: 1 if quick else None]:
            with _training(bonus, serial=False) as shared, _training(bonus, serial=True) as alone:
                pairs = [(_turn(shared, updates), _turn(alone, updates)) for _ in range(turns)]
            for name, unit, number in (("CPU per step", "µs", 0), ("steps per second", "steps/s", 1)):
                ours, peer = (statistics.median(turn[side][number] for turn in pairs) for side in (0, 1))
                rows.append(Measurement(f"Ray, 1 runner, {bonus}, {name}; peer: serial", ours, peer, unit, number == 1))
    return rows


@contextmanager
def _training(bonus: str, serial: bool) -> Iterator[Any]:
    config = Config(TASK, bonus=bonus, serial=serial, resources="laptop").rllib()
    algorithm = config.reporting(min_time_s_per_iteration=0).build_algo()
    try:
        for _ in range(WARM_UP_UPDATES):
            algorithm.train()
        yield algorithm
    finally:
        algorithm.stop()


def _turn(algorithm: Any, updates: int) -> tuple[float, float]:
    """CPU µs per step of all processes, and steps per second."""
    before, steps, started = usage_by_role(os.getpid()), algorithm.env_steps, time.perf_counter()
    for _ in range(updates):
        algorithm.train()
    seconds, after = time.perf_counter() - started, usage_by_role(os.getpid())
    steps = algorithm.env_steps - steps
    spent = {
        role: 1e6 * (used.cpu_seconds - before[role].cpu_seconds) / steps
        for role, used in after.items()
        if role in before and (role == DRIVER or not algorithm.config.serial)
    }
    parts = ", ".join(f"{role} {value:.0f}" for role, value in spent.items() if value >= 1)
    print(
        f"  {'serial' if algorithm.config.serial else 'Ray'}: {sum(spent.values()):.0f} µs per step ({parts})",
        flush=True,
    )
    return sum(spent.values()), steps / seconds

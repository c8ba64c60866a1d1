"""DD-PPO with many workers, simulated from rollouts timed on one.

In each round, workers finish steps at times taken from real rollouts; with preemption, the remaining workers stop once
the sync fraction has finished; then all learn and all-reduce gradients.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np


@dataclass(frozen=True)
class Network:
    """Cost of an all-reduce that starts when the backward pass has ended; overlapping them could only lower it.

    A `ring` (Gloo; NCCL within a node or for large buffers) passes 2 (W − 1) / W of the bytes through each worker in
    2 (W − 1) hops. A `tree` (NCCL's double binary tree between nodes) passes all bytes up and down in 2 ⌈log₂ W⌉ hops.
    """

    topology: Literal["ring", "tree"] = "ring"
    bytes_per_second: float = 12.5e9
    """100 Gb/s (assumed)."""
    latency_seconds: float = 30e-6
    """Per hop (assumed)."""

    def exchange_seconds(self, workers: int, num_bytes: float) -> float:
        """Duration of one all-reduce."""
        if workers == 1:
            return 0.0
        if self.topology == "tree":
            return 2 * (num_bytes / self.bytes_per_second + math.ceil(math.log2(workers)) * self.latency_seconds)
        hops = 2 * (workers - 1)
        return hops * (num_bytes / workers / self.bytes_per_second + self.latency_seconds)


@dataclass(frozen=True)
class Job:
    """Times of one worker."""

    step_seconds: np.ndarray
    """[rollouts, T]: environment time of each step, in consecutive rollouts."""
    act_seconds: float
    """Policy time per step."""
    learn_seconds: float
    """Learning from a whole rollout, without communication."""
    exchanges: int
    """All-reduces per update."""
    num_bytes: float
    """Size of one all-reduce."""
    small_exchanges: int = 0
    """All-reduces of a few numbers per update, such as image statistics, which cost latency only."""

    def exchange_seconds(self, network: Network, workers: int) -> float:
        """Duration of all exchanges of an update."""
        large, small = (network.exchange_seconds(workers, size) for size in (self.num_bytes, 0))
        return self.exchanges * large + self.small_exchanges * small

    def smoothed(self) -> Job:
        """Every step as long as the mean one: without what else the machine did while rollouts were timed."""
        return replace(self, step_seconds=np.full((1, self.step_seconds.shape[1]), self.step_seconds.mean()))


@dataclass(frozen=True)
class Simulated:
    """Outcome of many rounds."""

    steps_per_second: float
    """Steps of one env per worker, summed over workers."""
    share: float
    """Fraction of the full rollouts that was collected."""


def simulate(
    job: Job,
    workers: int,
    *,
    sync_fraction: float | None,
    shortest: float = 0.25,
    spread: float = 0.0,
    network: Network | None = None,
    rounds: int = 400,
    seed: int = 0,
) -> Simulated:
    """Simulate rounds of `workers`; `sync_fraction=None` waits for all of them.

    Each worker starts at a random one of the measured rollouts. A log-normal factor on environment time with deviation
    `spread`, drawn for every rollout, stands for scenes of different size.
    """
    random = np.random.default_rng(seed)
    network = network or Network()
    rollouts, T = job.step_seconds.shape
    start = random.integers(rollouts, size=workers)
    fewest_steps = max(1, math.ceil(shortest * T))
    clock, collected = 0.0, 0
    for number in range(rounds):
        factor = np.exp(spread * random.normal(size=(workers, 1)) - spread**2 / 2)  # mean 1
        steps_take = job.step_seconds[(start + number) % rollouts] * factor + job.act_seconds
        finished = np.cumsum(steps_take, axis=1)  # [W, T]: end of each step
        steps = np.full(workers, T)
        if sync_fraction is not None:
            needed = max(1, math.ceil(sync_fraction * workers))
            preempted = np.partition(finished[:, -1], needed - 1)[needed - 1]
            # A worker checks between steps, so it completes the current one.
            steps = np.clip((finished < preempted).sum(1) + 1, fewest_steps, T)
        times = finished[np.arange(workers), steps - 1]
        clock += times.max() + job.learn_seconds * steps.max() / T
        clock += job.exchange_seconds(network, workers)
        collected += int(steps.sum())
    return Simulated(collected / clock, collected / (rounds * workers * T))


def speed_up(job: Job, workers: int, **options: Any) -> tuple[float, float]:
    """Speed-up over one worker, and the fraction of rollouts collected."""
    alone = simulate(job, 1, sync_fraction=None, spread=options.get("spread") or 0.0)
    many = simulate(job, workers, **options)
    return many.steps_per_second / alone.steps_per_second, many.share

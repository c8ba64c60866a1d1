"""DD-PPO with many workers, simulated from the times of one.

In each round, workers play until the sync fraction of them has a full rollout; fast ones wait or go on, and slow ones
stop there. Then all learn and all-reduce gradients.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
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

    @property
    def seconds_alone(self) -> float:
        """Duration of a round of a single worker."""
        return (
            float(self.step_seconds.sum(1).mean()) + self.step_seconds.shape[1] * self.act_seconds + self.learn_seconds
        )


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
    longest: float = 1.0,
    spread: float = 0.0,
    network: Network | None = None,
    rounds: int = 2_000,
    seed: int = 0,
) -> Simulated:
    """Simulate rounds of `workers`; `sync_fraction=None` waits for all of them.

    `shortest` and `longest` bound the length of a rollout, as `shortest_rollout` and `longest_rollout` do. Each worker
    starts at a random one of the rollouts. A log-normal factor on environment time with mean 1 and deviation `spread`,
    drawn for every rollout, stands for scenes of different size.
    """
    random = np.random.default_rng(seed)
    network = network or Network()
    rollouts, T = job.step_seconds.shape
    start = random.integers(rollouts, size=workers)
    fewest_steps, most_steps = max(1, math.ceil(shortest * T)), round(longest * T)
    clock, collected = 0.0, 0
    for number in range(rounds):
        factor = np.exp(spread * random.normal(size=(workers, 1)) - spread**2 / 2)  # mean 1
        played = [job.step_seconds[(start + number + more) % rollouts] for more in range(math.ceil(longest))]
        steps_take = np.concatenate(played, axis=1)[:, :most_steps] * factor + job.act_seconds
        finished = np.cumsum(steps_take, axis=1)  # [W, most_steps]: end of each step
        steps = np.full(workers, T)
        if sync_fraction is not None:
            needed = max(1, math.ceil(sync_fraction * workers))
            preempted = np.partition(finished[:, T - 1], needed - 1)[needed - 1]
            # A worker checks between steps, so it completes the current one.
            steps = np.clip((finished < preempted).sum(1) + 1, fewest_steps, most_steps)
        times = finished[np.arange(workers), steps - 1]
        clock += times.max() + job.learn_seconds * steps.max() / T
        clock += job.exchange_seconds(network, workers)
        collected += int(steps.sum())
    return Simulated(collected / clock, collected / (rounds * workers * T))


def speed_up(job: Job, workers: int, **options: Any) -> tuple[float, float]:
    """Speed-up over one worker, and the fraction of rollouts collected."""
    many = simulate(job, workers, **options)
    return many.steps_per_second * job.seconds_alone / job.step_seconds.shape[1], many.share

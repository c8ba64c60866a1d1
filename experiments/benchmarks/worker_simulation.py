"""DD-PPO on machines we do not have: rounds of many workers, simulated from rollouts that were timed on one.

A round is a sequence of events: workers finish steps at times drawn from real rollouts; with preemption the round is
called off for the rest once the sync fraction has finished; then all learn and exchange gradients.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Network:
    """What exchanging gradients costs. A ring passes 2 (W − 1) / W of the bytes through each worker."""

    bytes_per_second: float = 12.5e9
    """100 Gb/s (an assumption)."""
    latency_seconds: float = 30e-6
    """Of one hop (an assumption)."""

    def exchange_seconds(self, workers: int, num_bytes: float) -> float:
        """One sum over all workers."""
        if workers == 1:
            return 0.0
        hops = 2 * (workers - 1)
        return hops * (num_bytes / workers / self.bytes_per_second + self.latency_seconds)


@dataclass(frozen=True)
class Job:
    """One worker's part of a run, as it was measured."""

    step_seconds: np.ndarray
    """[rollouts, T]: seconds of the environments in each step, rollout after rollout of one worker."""
    act_seconds: float
    """Of the policy in each step."""
    learn_seconds: float
    """Learning from a whole rollout, without exchanges."""
    exchanges: int
    """Sums over all workers in one update."""
    num_bytes: float
    """Of one of them."""


@dataclass(frozen=True)
class Simulated:
    """What many rounds came to."""

    steps_per_second: float
    """Steps of one environment, summed over workers."""
    share: float
    """Of the rollouts that was collected."""


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
    """Rounds of `workers`; `sync_fraction=None` waits for everybody.

    Each worker plays the measured rollouts from a place of its own. `spread` is the deviation of the logarithm of a
    factor on the time of its environments that changes with every rollout, as scenes of different size do.
    """
    random = np.random.default_rng(seed)
    network = network or Network()
    rollouts, T = job.step_seconds.shape
    start = random.integers(rollouts, size=workers)
    least = max(1, math.ceil(shortest * T))
    clock, collected = 0.0, 0
    for number in range(rounds):
        factor = np.exp(spread * random.normal(size=(workers, 1)) - spread**2 / 2)  # of mean 1
        steps_take = job.step_seconds[(start + number) % rollouts] * factor + job.act_seconds
        finished = np.cumsum(steps_take, axis=1)  # [W, T]: when each step is done
        steps = np.full(workers, T)
        if sync_fraction is not None:
            needed = max(1, math.ceil(sync_fraction * workers))
            called_off = np.partition(finished[:, -1], needed - 1)[needed - 1]
            # A worker looks for the signal between steps: it ends the one it is in.
            steps = np.clip((finished < called_off).sum(1) + 1, least, T)
        times = finished[np.arange(workers), steps - 1]
        clock += times.max() + job.learn_seconds * steps.max() / T
        clock += job.exchanges * network.exchange_seconds(workers, job.num_bytes)
        collected += int(steps.sum())
    return Simulated(collected / clock, collected / (rounds * workers * T))


def speed_up(job: Job, workers: int, **options: float | None) -> tuple[float, float]:
    """How many times faster than one worker, and the share of rollouts that was collected."""
    alone = simulate(job, 1, sync_fraction=None, spread=options.get("spread") or 0.0)
    many = simulate(job, workers, **options)  # type: ignore[arg-type]
    return many.steps_per_second / alone.steps_per_second, many.share

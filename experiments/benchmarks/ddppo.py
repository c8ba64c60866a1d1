"""Scaling of DD-PPO: measured on this machine's cores, simulated for 8 to 128 workers, projected for 32 GPUs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import ray

from bonuslab.algorithms.ddppo.config import DDPPOConfig
from bonuslab.algorithms.ddppo.hyperparameters import HABITAT, LAPTOP
from bonuslab.algorithms.ddppo.resources import DDPPOResources
from bonuslab.experiments.benchmarks.habitat_projection import (
    PUBLISHED_SPEED_UP,
    PUBLISHED_STEPS_PER_SECOND,
    PUBLISHED_WORKERS,
    WORKERS,
    Assumptions,
    calibrated_spread,
    habitat_job,
    network_cost,
    published_job,
)
from bonuslab.experiments.benchmarks.measurement import Measurement
from bonuslab.experiments.benchmarks.process_memory import tree_cpu_seconds
from bonuslab.experiments.benchmarks.timing import WARM_UP_TURNS
from bonuslab.experiments.benchmarks.worker_simulation import Network, simulate, speed_up

TASK = "MultiRoom-N6-Lava"
SIMULATED = (8, 32, 128)
GOING_ON = {"sync_fraction": 0.85, "longest": 1.5}
"""Fast workers go on to one and a half rollouts instead of waiting (`sync_fraction`, `longest_rollout`)."""


def run(quick: bool) -> list[Measurement]:
    """Measure, simulate and project; of measured scaling, a ratio of 1 is perfect."""
    return [*_measured(*((3, 2) if quick else (12, 5))), *_simulated(), *_projected()]


def _measured(updates: int, turns: int) -> list[Measurement]:
    """One worker per core beside a single worker with as many envs, on one core and on all, in turns.

    CPU time is that of all processes, Ray's own among them: other load on the machine does not count. On one core it
    shows what smaller batches and the exchange of gradients cost; on all cores, what the same machine does with one
    worker.
    """
    cores = os.cpu_count() or 1
    envs = LAPTOP.values.num_envs_per_env_runner
    peers = {"one core": DDPPOResources(1), f"{cores} cores": DDPPOResources(1, cores)}
    ray.init("local", num_cpus=2 * cores + 1, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    try:
        with ExitStack() as stack:
            many = stack.enter_context(_training(DDPPOResources(cores), envs))
            others = [stack.enter_context(_training(peer, envs * cores)) for peer in peers.values()]
            found = [[_turn(algorithm, updates) for algorithm in (many, *others)] for _ in range(turns)]
    finally:
        ray.shutdown()
    medians = np.median(found, axis=0)  # [many and peers, 2]
    rows = []
    for where, single in zip(peers, medians[1:], strict=True):
        title = f"{cores} workers × {envs} envs; peer: one worker × {envs * cores} envs on {where}"
        rows.append(Measurement(f"{title}, CPU per step", medians[0][0], single[0], "µs", False))
        rows.append(Measurement(f"{title}, steps per second", medians[0][1], single[1], "steps/s", True))
    return rows


@contextmanager
def _training(resources: DDPPOResources, envs: int) -> Iterator[Any]:
    config = DDPPOConfig().environment(TASK).debugging(seed=0, log_level="ERROR").apply(LAPTOP.values)
    resources.configure(config).bonus("e3b * rnd").reporting(min_time_s_per_iteration=0)
    algorithm = config.env_runners(num_envs_per_env_runner=envs).build_algo()
    try:
        for _ in range(WARM_UP_TURNS):
            algorithm.train()
        yield algorithm
    finally:
        algorithm.stop()


def _turn(algorithm: Any, updates: int) -> tuple[float, float]:
    """CPU µs per step, and steps per second."""
    cpu, steps, started = tree_cpu_seconds(os.getpid()), algorithm.env_steps, time.perf_counter()
    for _ in range(updates):
        algorithm.train()
    seconds, cpu = time.perf_counter() - started, tree_cpu_seconds(os.getpid()) - cpu
    steps = algorithm.env_steps - steps
    return 1e6 * cpu / steps, steps / seconds


def _simulated() -> list[Measurement]:
    """Speed-ups of the published program and of ours on simulated GPUs, as published and with fast workers going on."""
    values, cost, rows = HABITAT.values, network_cost(), []
    theirs, ours = published_job(cost), habitat_job(cost)
    print(f"  assumed: {Assumptions()}; {Network()}", flush=True)
    for topology in ("ring", "tree"):
        network = Network(topology)
        spread = calibrated_spread(cost, network)
        speed = (
            values.num_envs_per_env_runner
            * simulate(theirs, 64, sync_fraction=values.sync_fraction, spread=spread, network=network).steps_per_second
        )
        rows.append(
            Measurement(
                f"calibration, {topology}: frames per second and GPU of 64; peer: published, at least",
                speed / 64, PUBLISHED_STEPS_PER_SECOND, "frames/s", True,
            )
        )  # fmt: skip
        print(
            f"  {topology}: with scene speeds ± {spread:.2f} (deviation of the logarithm) the published program has "
            f"its speed-up of {PUBLISHED_SPEED_UP:.0f} on {PUBLISHED_WORKERS} GPUs",
            flush=True,
        )
        for workers in SIMULATED:
            options = {"spread": spread, "network": network}
            published, _ = speed_up(theirs, workers, sync_fraction=values.sync_fraction, **options)
            preset, _ = speed_up(ours, workers, sync_fraction=values.sync_fraction, **options)
            busy, share = speed_up(ours, workers, **GOING_ON, **options)
            print(
                f"  {topology}, {workers} workers: efficiency {busy / workers:.2f} with {GOING_ON}, {share:.0%} of the "
                f"rollouts collected; {preset / workers:.2f} with the preset, {published / workers:.2f} published "
                f"program; our all-reduces take {1e3 * ours.exchange_seconds(network, workers):.0f} ms of "
                f"{1e3 * ours.seconds_alone:,.0f} ms",
                flush=True,
            )
            name = f"simulated speed-up, {workers} workers, {topology}"
            rows.append(Measurement(f"{name}, preset habitat; peer: published program", preset, published, "×", True))
            rows.append(Measurement(f"{name}, fast workers go on; peer: published program", busy, published, "×", True))
    return rows


def _projected() -> list[Measurement]:
    """The paper's run: 32 GPUs, 4 envs each, 225 million steps."""
    values, cost = HABITAT.values, network_cost()
    job, envs, length = habitat_job(cost), values.num_envs_per_env_runner, values.rollout_fragment_length
    spread = calibrated_spread(cost, Network())
    done, waiting = (
        simulate(job, WORKERS, sync_fraction=fraction, spread=spread) for fraction in (values.sync_fraction, None)
    )
    speed = envs * done.steps_per_second
    print(
        f"  projection: {cost.flops_per_frame / 1e9:.1f} GFLOP per frame, {cost.parameters / 1e6:.1f} M parameters; "
        f"per rollout of {envs} × {length} steps: simulating {job.step_seconds.sum():.1f} s, acting "
        f"{length * job.act_seconds:.1f} s, learning {job.learn_seconds:.1f} s, all-reduce "
        f"{job.exchange_seconds(Network(), WORKERS):.2f} s; {done.share:.0%} collected",
        flush=True,
    )
    hours = values.total_env_steps / speed / 3600
    name = f"projected: {WORKERS} GPUs × {envs} envs"
    return [
        Measurement(f"{name}; peer: no preemption", speed, envs * waiting.steps_per_second, "frames/s", True),
        Measurement(f"{name}, 225 million steps", hours, None, "hours"),
    ]

"""Scaling of DD-PPO: measured on this machine's cores, simulated for 8 to 128 workers, projected for 32 GPUs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import ray
import torch

from bonuslab.algorithms.ddppo.config import DDPPOConfig
from bonuslab.algorithms.ddppo.hyperparameters import HABITAT, LAPTOP, LAPTOP_PIXELS
from bonuslab.algorithms.ddppo.resources import DDPPOResources
from bonuslab.experiments.benchmarks.habitat_projection import (
    WORKERS,
    Assumptions,
    habitat_job,
    network_cost,
)
from bonuslab.experiments.benchmarks.measurement import Measurement
from bonuslab.experiments.benchmarks.process_memory import tree_cpu_seconds
from bonuslab.experiments.benchmarks.timing import WARM_UP_TURNS
from bonuslab.experiments.benchmarks.worker_simulation import Job, Network, simulate, speed_up

TASK, PIXELS = "MultiRoom-N6-Lava", "Apartments-64"
SIMULATED = (8, 32, 128)


def run(quick: bool) -> list[Measurement]:
    """Measure, simulate and project; of measured scaling, a ratio of 1 is perfect."""
    return [*_measured(*((3, 2) if quick else (12, 5))), *_simulated(rollouts=6 if quick else 60), *_projected()]


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


def _simulated(rollouts: int) -> list[Measurement]:
    """Speed-ups of rollouts timed here, of the same without this machine's noise, and of the paper's GPUs."""
    timed = timed_job(rollouts)
    total = timed.step_seconds.sum(1)
    print(
        f"  {PIXELS}, {len(total)} rollouts: simulating {total.mean():.2f} s, deviation "
        f"{total.std() / total.mean():.1%}; acting {timed.step_seconds.shape[1] * timed.act_seconds:.2f} s, learning "
        f"{timed.learn_seconds:.2f} s",
        flush=True,
    )
    scenes = Assumptions.spread
    jobs = {
        "as timed here": (timed, 0.0),
        f"smoothed, scene speeds ± {scenes:.0%}": (timed.smoothed(), scenes),
        f"assumed GPUs, scene speeds ± {scenes:.0%}": (habitat_job(network_cost()), scenes),
    }
    rows = []
    for name, (job, spread) in jobs.items():
        for workers in SIMULATED:
            for topology in ("ring", "tree"):
                network = Network(topology)
                waiting, _ = speed_up(job, workers, sync_fraction=None, spread=spread, network=network)
                ours, share = speed_up(
                    job, workers, sync_fraction=HABITAT.values.sync_fraction, spread=spread, network=network
                )
                exchange = job.exchange_seconds(network, workers)
                print(
                    f"  {workers} workers, {name}, {topology}: efficiency {ours / workers:.2f} "
                    f"({waiting / workers:.2f} without preemption), {share:.0%} of the rollouts collected, all-reduce "
                    f"{1e3 * exchange:.0f} ms per update",
                    flush=True,
                )
                title = f"simulated speed-up, {workers} workers, {name}, {topology}; peer: no preemption"
                rows.append(Measurement(title, ours, waiting, "×", True))
    return rows


class _TimedVectorEnv:
    """A vector env that records the duration of each step."""

    def __init__(self, envs: Any) -> None:
        self._envs = envs
        self.seconds: list[float] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._envs, name)

    def step(self, *arguments: Any, **options: Any) -> Any:
        """Step all envs."""
        started = time.perf_counter()
        result = self._envs.step(*arguments, **options)
        self.seconds.append(time.perf_counter() - started)
        return result


def timed_job(rollouts: int) -> Job:
    """Time rollouts and updates of one worker with the `laptop-pixels` preset and E3B."""
    torch.set_num_threads(1)
    values = LAPTOP_PIXELS.values
    config = DDPPOConfig().environment(PIXELS).debugging(seed=0, log_level="ERROR").apply(values)
    config.bonus("e3b").env_runners(num_envs_per_env_runner=HABITAT.values.num_envs_per_env_runner)
    algorithm = config.run_serially().build_algo()
    worker = algorithm.env_runner
    worker.rollout._envs = envs = _TimedVectorEnv(worker.env)
    playing, learning = [], []
    try:
        for _ in range(rollouts + 1):  # the first warms up
            playing.append(worker.collect().seconds)
            started = time.perf_counter()
            worker.learn()
            learning.append(time.perf_counter() - started)
        num_bytes = 4.0 * worker.module.network.num_parameters()
    finally:
        algorithm.stop()
    steps = np.array(envs.seconds).reshape(rollouts + 1, values.rollout_fragment_length)[1:]
    return Job(
        step_seconds=steps,
        act_seconds=float(np.median(playing[1:] - steps.sum(1)) / values.rollout_fragment_length),
        learn_seconds=float(np.median(learning[1:])),
        exchanges=values.num_epochs * values.num_minibatches + values.bonus_updates,
        num_bytes=num_bytes,
    )


def _projected() -> list[Measurement]:
    """The paper's run: 32 GPUs, 4 envs each, 225 million steps."""
    assumed, cost = Assumptions(), network_cost()
    job = habitat_job(cost, assumed)
    envs = HABITAT.values.num_envs_per_env_runner
    done = simulate(job, WORKERS, sync_fraction=HABITAT.values.sync_fraction, spread=assumed.spread)
    waiting = simulate(job, WORKERS, sync_fraction=None, spread=assumed.spread)
    speed = envs * done.steps_per_second
    exchange = job.exchange_seconds(Network(), WORKERS)
    length = HABITAT.values.rollout_fragment_length
    print(
        f"  projection: {cost.flops_per_frame / 1e9:.1f} GFLOP per frame, {cost.parameters / 1e6:.1f} M parameters; "
        f"per rollout of {envs} × {length} steps: simulating {job.step_seconds.sum():.1f} s, acting "
        f"{length * job.act_seconds:.1f} s, learning {job.learn_seconds:.1f} s, all-reduce {exchange:.2f} s; "
        f"{done.share:.0%} collected",
        flush=True,
    )
    print(f"  assumed: {assumed}", flush=True)
    hours = HABITAT.values.total_env_steps / speed / 3600
    name = f"projected: {WORKERS} GPUs × {envs} envs"
    return [
        Measurement(f"{name}; peer: no preemption", speed, envs * waiting.steps_per_second, "frames/s", True),
        Measurement(f"{name}, 225 million steps", hours, None, "hours"),
    ]

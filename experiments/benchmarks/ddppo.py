"""Scaling of DD-PPO: measured on the cores there are, simulated on 8 to 128 workers, planned on 32 GPUs."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
import ray
import torch

from bonuslab.algorithms.ddppo.config import DDPPOConfig
from bonuslab.algorithms.ddppo.hyperparameters import HABITAT, LAPTOP, LAPTOP_PIXELS
from bonuslab.algorithms.ddppo.resources import DDPPOResources
from bonuslab.experiments.benchmarks.habitat_plan import (
    PAPER_STEPS_PER_SECOND,
    WORKERS,
    Assumptions,
    habitat_job,
    network_cost,
)
from bonuslab.experiments.benchmarks.measurement import Measurement
from bonuslab.experiments.benchmarks.training_speed import trained_per_second
from bonuslab.experiments.benchmarks.worker_simulation import Job, Network, simulate, speed_up

TASK, PIXELS = "MultiRoom-N6-Lava", "Apartments-64"
DDPPO_PAPER = {8: 7.3, 128: 107.0}
"""Speed-up over one GPU that Wijmans et al. (2020) report; 107 is in their abstract, 7.3 is from memory."""
SIMULATED = (8, 32, 128)


def run(quick: bool) -> list[Measurement]:
    """Efficiencies are ratios: 1 would be perfect."""
    return [*_measured(4.0 if quick else 30.0), *_simulated(rollouts=6 if quick else 60), *_planned()]


def _measured(seconds: float) -> list[Measurement]:
    """Weak scaling keeps the environments of a worker, strong scaling the environments of all."""
    cores = os.cpu_count() or 1
    envs = LAPTOP.values.num_envs_per_env_runner
    ray.init("local", num_cpus=cores, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    try:
        one = _speed(1, envs, seconds)
        all_alone = _speed(1, envs * cores, seconds)
        many = _speed(cores, envs, seconds)
    finally:
        ray.shutdown()
    return [
        Measurement(
            f"weak scaling: {cores} workers × {envs} environments; peer {cores} × one",
            many,
            cores * one,
            "steps/s",
            True,
        ),
        Measurement(
            f"strong scaling: {cores} workers, {envs * cores} environments; peer one worker",
            many,
            all_alone,
            "steps/s",
            True,
        ),
    ]


def _speed(workers: int, envs: int, seconds: float) -> float:
    config = DDPPOConfig().environment(TASK).debugging(seed=0, log_level="ERROR")
    config.apply(LAPTOP.values)
    DDPPOResources("benchmark", workers).configure(config).bonus("e3b * rnd").reporting(min_time_s_per_iteration=1)
    config.env_runners(num_envs_per_env_runner=envs)
    return trained_per_second(f"{workers} workers × {envs} environments", config.build_algo, seconds)


def _simulated(rollouts: int) -> list[Measurement]:
    """Speed-ups from rollouts of one worker that was timed here, with scenes that differ and without."""
    job = timed_job(rollouts)
    total = job.step_seconds.sum(1)
    print(
        f"  {PIXELS}, {len(total)} rollouts: environments {total.mean():.2f} s, deviation "
        f"{total.std() / total.mean():.1%}; acting {job.step_seconds.shape[1] * job.act_seconds:.2f} s, learning "
        f"{job.learn_seconds:.2f} s",
        flush=True,
    )
    rows = []
    for spread in (0.0, Assumptions.spread):
        scenes = f"speeds of scenes ± {spread:.0%}" if spread else "as measured"
        for workers in SIMULATED:
            waiting, _ = speed_up(job, workers, sync_fraction=None, spread=spread)
            preempting, share = speed_up(job, workers, sync_fraction=HABITAT.values.sync_fraction, spread=spread)
            print(f"  {workers} workers, {scenes}: {share:.0%} of the rollouts are collected", flush=True)
            name = f"simulated speed-up, {workers} workers, {scenes}"
            rows.append(Measurement(f"{name}; peer without preemption", preempting, waiting, "×", True))
            if spread and workers in DDPPO_PAPER:
                rows.append(
                    Measurement(f"{name}; peer DD-PPO's paper (quoted)", preempting, DDPPO_PAPER[workers], "×", True)
                )
    return rows


class _TimedVectorEnv:
    """VectorEnv that note how long each step takes."""

    def __init__(self, envs: Any) -> None:
        self._envs = envs
        self.seconds: list[float] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._envs, name)

    def step(self, *arguments: Any, **options: Any) -> Any:
        """One step of all environments."""
        started = time.perf_counter()
        result = self._envs.step(*arguments, **options)
        self.seconds.append(time.perf_counter() - started)
        return result


def timed_job(rollouts: int) -> Job:
    """Rollouts of a worker of the `laptop-pixels` preset with E3B, timed step by step, and what it learns with."""
    torch.set_num_threads(1)
    values = LAPTOP_PIXELS.values
    config = DDPPOConfig().environment(PIXELS).debugging(seed=0, log_level="ERROR")
    config.apply(values).bonus("e3b").env_runners(num_envs_per_env_runner=HABITAT.values.num_envs_per_env_runner)
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
        exchanges=values.num_epochs * values.num_minibatches + 2 * values.bonus_updates,
        num_bytes=num_bytes,
    )


def _planned() -> list[Measurement]:
    """The paper's run: 32 GPUs, 4 environments each, 225 million steps."""
    assumed, cost = Assumptions(), network_cost()
    job = habitat_job(cost, assumed)
    envs = HABITAT.values.num_envs_per_env_runner
    done = simulate(job, WORKERS, sync_fraction=HABITAT.values.sync_fraction, spread=assumed.spread)
    waiting = simulate(job, WORKERS, sync_fraction=None, spread=assumed.spread)
    speed = envs * done.steps_per_second
    exchange = job.exchanges * Network().exchange_seconds(WORKERS, job.num_bytes)
    print(
        f"  plan: {cost.flops_per_frame / 1e9:.1f} Gflop a frame, {cost.parameters / 1e6:.1f} M parameters; a rollout "
        f"of {envs} × {HABITAT.values.rollout_fragment_length}: simulating {job.step_seconds.sum():.1f} s, acting "
        f"{HABITAT.values.rollout_fragment_length * job.act_seconds:.1f} s, learning {job.learn_seconds:.1f} s, "
        f"exchanging {exchange:.2f} s; {done.share:.0%} collected",
        flush=True,
    )
    print(f"  assumed: {assumed}", flush=True)
    hours, paper = (HABITAT.values.total_env_steps / each / 3600 for each in (speed, PAPER_STEPS_PER_SECOND))
    name = f"planned: {WORKERS} GPUs × {envs} environments"
    return [
        Measurement(f"{name}; peer the paper's (quoted)", speed, PAPER_STEPS_PER_SECOND, "frames/s", True),
        Measurement(f"{name}, preemption; peer without", speed, envs * waiting.steps_per_second, "frames/s", True),
        Measurement(f"{name}, 225 million steps; peer the paper's (quoted)", hours, paper, "hours"),
    ]

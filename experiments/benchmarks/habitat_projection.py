"""DD-PPO on GPUs: how long each part of a round takes, from assumptions that are checked against published numbers.

No GPU was available. FLOPs of the network and bytes of the gradients are counted; everything else is in `Assumptions`,
`worker_simulation.Network` and the spread of scene speeds. Wijmans et al. (2020, arXiv:1911.00357) publish a speed-up
of 107 on 128 GPUs, and 2.5 billion steps on 64 GPUs in under 3 days. The spread is the one with which their program,
simulated, has that speed-up: whatever else cost them time is put down to scenes of unequal speed, which is the worst
case for a comparison of rules that deal with stragglers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from bonuslab.algorithms.ddppo.hyperparameters import HABITAT
from bonuslab.algorithms.networks import build_policy
from bonuslab.envs.habitat.spaces import observation_space
from bonuslab.experiments.benchmarks.worker_simulation import Job, Network, speed_up

WORKERS = 32
PUBLISHED_SPEED_UP = 107.0
PUBLISHED_WORKERS = 128
PUBLISHED_STEPS_PER_SECOND = 2.5e9 / 64 / (3 * 24 * 3600)
"""Of each of 64 GPUs."""
_SPREADS = (0.0, 2.0)
_HALVINGS = 10


@dataclass(frozen=True)
class Assumptions:
    """About a GPU of the time (V100) and its simulators; all ours."""

    flops: float = 5e12
    """FLOP/s of float32 convolutions in practice, a third of the peak."""
    launch_seconds: float = 12e-3
    """Shortest forward pass on few frames, bound by kernel launches."""
    frames_per_second: float = 200.0
    """RGB-D frames of 256 × 256 per second of one simulator, of four that share a GPU."""


@dataclass(frozen=True)
class NetworkCost:
    """Size of the policy network."""

    flops_per_frame: float
    """Of a forward pass."""
    parameters: int


def network_cost(size: int = 256) -> NetworkCost:
    """Count ResNet-50 with LSTM on images of the paper's size."""
    space = observation_space(size)
    network = build_policy(HABITAT.values.network, space, num_actions=4)
    frames = {key: torch.as_tensor(box.sample())[None] for key, box in space.items()}
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        network.act(frames, torch.tensor([True]), network.initial_state(1))
    return NetworkCost(float(counter.get_total_flops()), network.num_parameters())


def published_job(cost: NetworkCost, assumed: Assumptions | None = None) -> Job:
    """One GPU's part of Wijmans et al.'s program: PPO alone, on 4 envs × 128 steps.

    PyTorch hides the all-reduce of gradients behind the backward pass; image statistics need three small ones per
    forward pass (habitat-baselines, rl/ddppo/policy/running_mean_and_var.py).
    """
    assumed = assumed or Assumptions()
    values = HABITAT.values
    length, envs = values.rollout_fragment_length, values.num_envs_per_env_runner
    forward = cost.flops_per_frame / assumed.flops
    return Job(
        # The envs of a GPU render in parallel; one batched forward follows.
        step_seconds=np.full((1, length), 1 / assumed.frames_per_second),
        act_seconds=max(assumed.launch_seconds, envs * forward),
        learn_seconds=3 * values.num_epochs * length * envs * forward,  # a backward pass costs two forward passes
        exchanges=0,
        num_bytes=0.0,
        small_exchanges=3 * values.num_epochs * values.num_minibatches,
    )


def habitat_job(cost: NetworkCost, assumed: Assumptions | None = None) -> Job:
    """One GPU's part of our run: also E3B's bonus, 3 updates of its models on one step of all envs, and no overlap."""
    assumed = assumed or Assumptions()
    values = HABITAT.values
    policy = published_job(cost, assumed)
    envs = values.num_envs_per_env_runner
    forward = cost.flops_per_frame / assumed.flops
    bonus = values.rollout_fragment_length * envs * forward
    update = 3 * max(assumed.launch_seconds, 2 * envs * forward)
    gradients = values.num_epochs * values.num_minibatches + values.bonus_updates
    return Job(
        step_seconds=policy.step_seconds,
        act_seconds=policy.act_seconds,
        learn_seconds=policy.learn_seconds + bonus + values.bonus_updates * update,
        exchanges=gradients,
        num_bytes=4.0 * cost.parameters,
        small_exchanges=gradients,  # each pass with gradients first joins the images' statistics
    )


@cache
def calibrated_spread(cost: NetworkCost, network: Network, rounds: int = 2_000) -> float:
    """Deviation of the logarithm of scene speeds with which the published program has its published speed-up."""
    job, (low, high) = published_job(cost), _SPREADS
    options: dict[str, Any] = {"sync_fraction": HABITAT.values.sync_fraction, "network": network, "rounds": rounds}
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        found, _ = speed_up(job, PUBLISHED_WORKERS, spread=middle, **options)
        low, high = (middle, high) if found > PUBLISHED_SPEED_UP else (low, middle)
    return (low + high) / 2

"""The paper's Habitat run on 32 GPUs, projected: how long each part of a rollout takes there.

No GPU was available. FLOPs of the network and bytes of the gradients are counted; everything else is in `Assumptions`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from bonuslab.algorithms.ddppo.hyperparameters import HABITAT
from bonuslab.algorithms.networks import build_policy
from bonuslab.envs.habitat.spaces import observation_space
from bonuslab.experiments.benchmarks.worker_simulation import Job

WORKERS = 32


@dataclass(frozen=True)
class Assumptions:
    """About a GPU of the time (V100) and its simulators; all ours."""

    flops: float = 5e12
    """FLOP/s of float32 convolutions in practice, a third of the peak."""
    launch_seconds: float = 12e-3
    """Shortest forward pass on few frames, bound by kernel launches."""
    frames_per_second: float = 200.0
    """RGB-D frames of 256 × 256 per second of one simulator, of four that share a GPU."""
    spread: float = 0.4
    """Standard deviation of the logarithm of the simulator's speed between scenes."""


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


def habitat_job(cost: NetworkCost, assumed: Assumptions | None = None) -> Job:
    """One GPU's part of the run: 4 envs × 128 steps, and 3 updates of E3B's models."""
    assumed = assumed or Assumptions()
    values = HABITAT.values
    frames = values.rollout_fragment_length * values.num_envs_per_env_runner
    forward = cost.flops_per_frame / assumed.flops
    # In forward passes; a backward pass costs two. Epochs of the policy, then one forward and the updates of φ.
    passes = 3 * values.num_epochs + 1 + 3 * values.bonus_updates
    gradients = values.num_epochs * values.num_minibatches + values.bonus_updates
    return Job(
        # The envs of a GPU render in parallel; one batched forward follows.
        step_seconds=np.full((1, values.rollout_fragment_length), 1 / assumed.frames_per_second),
        act_seconds=max(assumed.launch_seconds, values.num_envs_per_env_runner * forward),
        learn_seconds=passes * frames * forward,
        exchanges=gradients,
        num_bytes=4.0 * cost.parameters,
        small_exchanges=gradients,  # each pass with gradients first joins the images' statistics
    )

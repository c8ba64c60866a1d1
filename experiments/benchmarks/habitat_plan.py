"""The paper's Habitat run on 32 GPUs: how long a rollout takes there, part by part, and so 225 million steps.

There is no GPU here. What is counted is counted (operations of the network, bytes of the gradients); what is assumed
says so and stands in `Assumptions`.
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
PAPER_STEPS_PER_SECOND = 225e6 / (3 * 24 * 3600)
"""Paper, appendix Habitat, Compute Details: 225 million steps in about 3 days on 32 GPUs."""


@dataclass(frozen=True)
class Assumptions:
    """Of a GPU of the time (V100) and its simulator; all ours."""

    flops: float = 5e12
    """Operations a second that convolutions in 32 bits reach in practice, a third of the peak."""
    launch_seconds: float = 12e-3
    """Least time of one forward on few frames: launching the kernels takes longer than they do."""
    frames_per_second: float = 200.0
    """RGB-D frames of 256 × 256 a second that one simulator renders, of four that share a GPU."""
    spread: float = 0.4
    """Deviation of the logarithm of the simulator's speed between scenes."""


@dataclass(frozen=True)
class NetworkCost:
    """Of the policy's network, counted."""

    flops_per_frame: float
    """Forward."""
    parameters: int


def network_cost(size: int = 256) -> NetworkCost:
    """Count ResNet-50 with LSTM on pictures of the paper's size."""
    space = observation_space(size)
    network = build_policy(HABITAT.values.network, space, num_actions=4)
    frames = {key: torch.as_tensor(box.sample())[None] for key, box in space.items()}
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        network.act(frames, torch.tensor([True]), network.initial_state(1))
    return NetworkCost(float(counter.get_total_flops()), network.num_parameters())


def habitat_job(cost: NetworkCost, assumed: Assumptions | None = None) -> Job:
    """A GPU's part of the run: 4 environments × 128 steps, E3B's models with 3 updates."""
    assumed = assumed or Assumptions()
    values = HABITAT.values
    frames = values.rollout_fragment_length * values.num_envs_per_env_runner
    forward = cost.flops_per_frame / assumed.flops
    # Backward counts twice. The policy makes its passes, φ one forward and its updates.
    passes = 3 * values.num_epochs + 1 + 3 * values.bonus_updates
    return Job(
        # The environments of a GPU render side by side; then one forward serves them all.
        step_seconds=np.full((1, values.rollout_fragment_length), 1 / assumed.frames_per_second),
        act_seconds=max(assumed.launch_seconds, values.num_envs_per_env_runner * forward),
        learn_seconds=passes * frames * forward,
        exchanges=values.num_epochs * values.num_minibatches + 2 * values.bonus_updates,
        num_bytes=4.0 * cost.parameters,
    )

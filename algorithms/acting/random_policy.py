"""A uniform random policy, for initialising observation normalisers before training."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from bonuslab.algorithms.networks import Encoder, Observations, PolicyNetwork


class _Blind(Encoder):
    output_size = 1

    def forward(self, observations: Observations) -> Tensor:
        return torch.zeros(len(next(iter(observations.values()))), 1)


def uniform_policy(num_actions: int) -> PolicyNetwork:
    """A policy that ignores observations and gives all actions equal probability."""
    network = PolicyNetwork(_Blind(), num_actions, core_size=None)
    nn.init.zeros_(network.policy_head.weight)
    nn.init.zeros_(network.policy_head.bias)
    return network

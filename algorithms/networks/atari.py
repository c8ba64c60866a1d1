"""The `atari` family: the policy network of the paper's Montezuma appendix, as the code it builds on has it.

Three convolutions of 32, 64 and 64 maps, then fully-connected layers of 256 and 448 that policy and values share, and a
third of 448 that each has of its own; the one of the values is added to what it gets. There is no LSTM (`recurrent` is
false there). Weights are orthogonal and biases zero; the gains are the released code's.
"""

from __future__ import annotations

import math
from typing import TypeVar

import gymnasium as gym
from torch import Tensor, nn

from bonuslab.algorithms.networks.encoder import Encoder, Observations
from bonuslab.algorithms.networks.pixels import Pictures
from bonuslab.algorithms.networks.policy import PolicyNetwork
from bonuslab.algorithms.networks.registry import register_family

L = TypeVar("L", nn.Conv2d, nn.Linear)
HIDDEN = 448


class LayeredHead(nn.Linear):
    """A linear head with a layer of its own before it: ReLU(Wx), or x + ReLU(Wx) if `residual`."""

    def __init__(self, size: int, outputs: int, residual: bool, gain: float) -> None:
        super().__init__(size, outputs)
        self.layer = orthogonal(nn.Linear(size, size), gain)
        self._residual = residual
        orthogonal(self, 0.01)

    def forward(self, x: Tensor) -> Tensor:
        """[..., outputs]."""
        hidden = self.layer(x).relu()
        return super().forward(x + hidden if self._residual else hidden)


def layered_heads(network: PolicyNetwork) -> None:
    """Give policy and values a layer of their own each."""
    size = network.policy_head.in_features
    network.policy_head = LayeredHead(size, network.policy_head.out_features, residual=False, gain=0.01)
    network.value_head = LayeredHead(size, network.value_head.out_features, residual=True, gain=0.1)


@register_family("atari", core_size=HIDDEN, finish=layered_heads)
class AtariEncoder(Encoder):
    """The shared part: three convolutions and two fully-connected layers on the stacked frames."""

    output_size = HIDDEN

    def __init__(self, observation_space: gym.spaces.Dict) -> None:
        super().__init__()
        self.pictures = Pictures(observation_space, smallest=44)
        cells = [((size - 8) // 4 + 1 - 4) // 2 + 1 - 3 for size in (self.pictures.height, self.pictures.width)]
        gain = math.sqrt(2)
        self.layers = nn.Sequential(
            orthogonal(nn.Conv2d(self.pictures.channels, 32, 8, stride=4), gain),
            nn.ReLU(),
            orthogonal(nn.Conv2d(32, 64, 4, stride=2), gain),
            nn.ReLU(),
            orthogonal(nn.Conv2d(64, 64, 4, stride=1), gain),
            nn.ReLU(),
            nn.Flatten(),
            orthogonal(nn.Linear(64 * cells[0] * cells[1], 256), gain),
            nn.ReLU(),
            orthogonal(nn.Linear(256, HIDDEN), gain),
            nn.ReLU(),
        )

    def forward(self, observations: Observations) -> Tensor:
        """[B, 448]."""
        return self.layers(self.pictures(observations, self.layers[0].weight.dtype))


def orthogonal(layer: L, gain: float) -> L:
    """The layer with orthogonal weights and no bias to begin with."""
    nn.init.orthogonal_(layer.weight, gain)
    assert layer.bias is not None
    nn.init.zeros_(layer.bias)
    return layer

"""The `atari` family: the policy network of the paper's Montezuma appendix, as in the code it builds on.

Three convolutions with 32, 64 and 64 channels, then fully-connected layers of 256 and 448 shared by policy and values,
and a separate layer of 448 for each; that of the values is residual. No LSTM (`recurrent=False`). Orthogonal weights,
zero biases, and the gains of the released code.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TypeVar

import gymnasium as gym
from torch import Tensor, nn

from bonuslab.algorithms.networks.encoder import Encoder, Observations
from bonuslab.algorithms.networks.pixels import Images
from bonuslab.algorithms.networks.policy import PolicyNetwork
from bonuslab.algorithms.networks.registry import register_family

L = TypeVar("L", nn.Conv2d, nn.Linear)
HIDDEN = 448
SMALLEST = 44
"""Pixels that the convolutions need in either direction."""


class LayeredHead(nn.Linear):
    """A linear head after a hidden layer: ReLU(Wx), or x + ReLU(Wx) if `residual`."""

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
    """Give policy and values a separate hidden layer each."""
    size = network.policy_head.in_features
    network.policy_head = LayeredHead(size, network.policy_head.out_features, residual=False, gain=0.01)
    network.value_head = LayeredHead(size, network.value_head.out_features, residual=True, gain=0.1)


@register_family("atari", core_size=HIDDEN, finish=layered_heads, check=partial(Images, smallest=SMALLEST))
class AtariEncoder(Encoder):
    """The shared trunk: three convolutions and two fully-connected layers on the stacked frames."""

    output_size = HIDDEN

    def __init__(self, observation_space: gym.spaces.Dict) -> None:
        super().__init__()
        self.images = Images(observation_space, smallest=SMALLEST)
        cells = [((size - 8) // 4 + 1 - 4) // 2 + 1 - 3 for size in (self.images.height, self.images.width)]
        gain = math.sqrt(2)
        self.layers = nn.Sequential(
            orthogonal(nn.Conv2d(self.images.channels, 32, 8, stride=4), gain),
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
        return self.layers(self.images(observations, self.layers[0].weight.dtype))


def orthogonal(layer: L, gain: float) -> L:
    """Initialise the layer with orthogonal weights and zero bias."""
    nn.init.orthogonal_(layer.weight, gain)
    assert layer.bias is not None
    nn.init.zeros_(layer.bias)
    return layer

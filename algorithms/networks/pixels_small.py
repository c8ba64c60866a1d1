"""The `pixels-small` family: the fastest network that sees pictures, for laptops. All its numbers are ours."""

from __future__ import annotations

import gymnasium as gym
import torch
from torch import Tensor, nn

from bonuslab.algorithms.networks.encoder import Encoder, Observations
from bonuslab.algorithms.networks.pixels import Pictures, Places
from bonuslab.algorithms.networks.registry import register_family

HIDDEN = 256


@register_family("pixels-small", core_size=128)
class SmallPixelEncoder(Encoder):
    """Three convolutions of stride 2 or more and one fully-connected layer, for pictures of about 64 × 64."""

    output_size = HIDDEN

    def __init__(self, observation_space: gym.spaces.Dict) -> None:
        super().__init__()
        self.pictures = Pictures(observation_space, smallest=36)
        self.places = Places(observation_space)
        self.seen = nn.Sequential(
            nn.Conv2d(self.pictures.channels, 16, 8, stride=4),
            nn.ReLU(),
            nn.Conv2d(16, 32, 4, stride=2),
            nn.ReLU(),
            nn.Conv2d(32, 32, 3, stride=1),
            nn.ReLU(),
        )
        with torch.no_grad():
            empty = torch.zeros(1, self.pictures.channels, self.pictures.height, self.pictures.width)
            size = self.seen(empty).numel()
        self.join = nn.Linear(size + self.places.size, HIDDEN)

    def forward(self, observations: Observations) -> Tensor:
        """[B, 256]."""
        seen = self.seen(self.pictures(observations, self.join.weight.dtype)).flatten(1)
        return self.join(torch.cat([seen, *self.places(observations)], dim=1)).relu()

"""The `pixels-small` family: the fastest image network, for laptops. All hyperparameters are ours."""

from __future__ import annotations

from functools import partial

import gymnasium as gym
import torch
from torch import Tensor, nn

from bonuslab.algorithms.networks.encoder import Encoder, Observations
from bonuslab.algorithms.networks.pixels import Images, Pose
from bonuslab.algorithms.networks.registry import register_family

HIDDEN = 256
SMALLEST = 36
"""Pixels that the convolutions need in either direction."""


@register_family("pixels-small", core_size=128, check=partial(Images, smallest=SMALLEST))
class SmallPixelEncoder(Encoder):
    """Three convolutions and one fully-connected layer, for images of about 64 × 64."""

    output_size = HIDDEN

    def __init__(self, observation_space: gym.spaces.Dict) -> None:
        super().__init__()
        self.images = Images(observation_space, smallest=SMALLEST)
        self.pose = Pose(observation_space)
        self.convolutions = nn.Sequential(
            nn.Conv2d(self.images.channels, 16, 8, stride=4),
            nn.ReLU(),
            nn.Conv2d(16, 32, 4, stride=2),
            nn.ReLU(),
            nn.Conv2d(32, 32, 3, stride=1),
            nn.ReLU(),
        )
        with torch.no_grad():
            empty = torch.zeros(1, self.images.channels, self.images.height, self.images.width)
            size = self.convolutions(empty).numel()
        self.join = nn.Linear(size + self.pose.size, HIDDEN)

    def forward(self, observations: Observations) -> Tensor:
        """[B, 256]."""
        seen = self.convolutions(self.images(observations, self.join.weight.dtype)).flatten(1)
        return self.join(torch.cat([seen, *self.pose(observations)], dim=1)).relu()

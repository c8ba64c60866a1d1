"""The `resnet50` family of the paper's Habitat experiments, and `resnet9`, its small sister for CPUs.

As in DD-PPO: pictures at half size, a ResNet with group norm, a 3 × 3 convolution that leaves 2,048 numbers of what it
sees, a fully-connected layer of 512; GPS and compass as 32 numbers each; an LSTM of two layers of 512. Readings of the
text, and ours:

- GPS and compass join before the layer of 512, not behind it, so that the encoder φ of the bonuses has the 512 numbers
  that the inverse-dynamics head (2 · 512 → 256 → 4) needs, and is the policy's encoder to the last layer.
- DD-PPO normalises pictures by a running mean, and shows the policy its last action. Neither is in the paper; the first
  would make acting and learning see different networks. Left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import gymnasium as gym
import torch
from torch import Tensor, nn

from bonuslab.algorithms.networks.encoder import Encoder, Observations
from bonuslab.algorithms.networks.pixels import Pictures, Places
from bonuslab.algorithms.networks.registry import register_family
from bonuslab.algorithms.networks.resnet import BasicBlock, Bottleneck, ResNet

CORE_SIZE = 512
CORE_LAYERS = 2
SEEN_SIZE = 2048
"""Numbers left of what the network sees, before they are joined with the place."""


class ResNetEncoder(Encoder):
    """Pictures through a ResNet, joined with the place in one fully-connected layer."""

    def __init__(
        self,
        observation_space: gym.spaces.Dict,
        block: type[Bottleneck] | type[BasicBlock],
        blocks: Sequence[int],
        base_planes: int,
        shrink: int,
        seen_size: int,
        output_size: int,
    ) -> None:
        """`shrink` is by how much pictures are shrunk first; `seen_size` and `output_size` are sizes of layers."""
        super().__init__()
        self.output_size = output_size
        self.pictures = Pictures(observation_space)
        self.places = Places(observation_space)
        self.shrink = nn.AvgPool2d(shrink) if shrink > 1 else nn.Identity()
        self.backbone = ResNet(self.pictures.channels, block, blocks, base_planes)
        cells = _ceil(self.pictures.height // shrink, 32) * _ceil(self.pictures.width // shrink, 32)
        maps = max(round(seen_size / cells), 1)
        self.compression = nn.Sequential(
            nn.Conv2d(self.backbone.channels, maps, 3, padding=1, bias=False), nn.GroupNorm(1, maps), nn.ReLU()
        )
        self.join = nn.Linear(maps * cells + self.places.size, output_size)

    def forward(self, observations: Observations) -> Tensor:
        """[B, output_size]."""
        seen = self.compression(self.backbone(self.shrink(self.pictures(observations, self.join.weight.dtype))))
        return self.join(torch.cat([seen.flatten(1), *self.places(observations)], dim=1)).relu()


@register_family("resnet50", core_size=CORE_SIZE, core_layers=CORE_LAYERS)
def resnet50(observation_space: gym.spaces.Dict) -> Encoder:
    """ResNet-50 with 32 base planes: the paper's."""
    return ResNetEncoder(observation_space, Bottleneck, (3, 4, 6, 3), 32, 2, SEEN_SIZE, CORE_SIZE)


@register_family("resnet9", core_size=256)
def resnet9(observation_space: gym.spaces.Dict) -> Encoder:
    """One plain block a stage with 16 base planes, for pictures of about 64 × 64 on a CPU (ours)."""
    return ResNetEncoder(observation_space, BasicBlock, (1, 1, 1, 1), 16, 1, 512, 256)


def _ceil(number: int, divisor: int) -> int:
    return -(-number // divisor)

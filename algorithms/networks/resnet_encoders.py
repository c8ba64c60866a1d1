"""The `resnet50` family of the paper's Habitat experiments, and the smaller `resnet9` for CPUs.

As in DD-PPO: images at half size, a ResNet with group norm, a 3 × 3 convolution to 2,048 features, a fully-connected
layer of 512; GPS and compass as 32 features each; an LSTM with two layers of 512. Interpretation of the text, and ours:

- GPS and compass join before the layer of 512, not after it, so that the encoder φ of the bonuses has the 512 features
  that the inverse-dynamics head (2 · 512 → 256 → 4) needs, and equals the policy's encoder up to the last layer.
- DD-PPO normalises images by a running mean and feeds the last action to the policy. Neither is in the paper, and the
  first would make acting and learning use different networks. Both are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import gymnasium as gym
import torch
from torch import Tensor, nn

from bonuslab.algorithms.networks.encoder import Encoder, Observations
from bonuslab.algorithms.networks.pixels import Images, Pose
from bonuslab.algorithms.networks.registry import register_family
from bonuslab.algorithms.networks.resnet import BasicBlock, Bottleneck, ResNet

CORE_SIZE = 512
CORE_LAYERS = 2
IMAGE_SIZE = 2048
"""Image features, before GPS and compass join."""


class ResNetEncoder(Encoder):
    """Images through a ResNet, joined with GPS and compass in one fully-connected layer."""

    def __init__(
        self,
        observation_space: gym.spaces.Dict,
        block: type[Bottleneck] | type[BasicBlock],
        blocks: Sequence[int],
        base_planes: int,
        shrink: int,
        image_size: int,
        output_size: int,
    ) -> None:
        """`shrink` is the downscaling of images; `image_size` and `output_size` are numbers of features."""
        super().__init__()
        self.output_size = output_size
        self.images = Images(observation_space)
        self.pose = Pose(observation_space)
        self.shrink = nn.AvgPool2d(shrink) if shrink > 1 else nn.Identity()
        self.backbone = ResNet(self.images.channels, block, blocks, base_planes)
        cells = _ceil(self.images.height // shrink, 32) * _ceil(self.images.width // shrink, 32)
        maps = max(round(image_size / cells), 1)
        self.compression = nn.Sequential(
            nn.Conv2d(self.backbone.channels, maps, 3, padding=1, bias=False), nn.GroupNorm(1, maps), nn.ReLU()
        )
        self.join = nn.Linear(maps * cells + self.pose.size, output_size)

    def forward(self, observations: Observations) -> Tensor:
        """[B, output_size]."""
        seen = self.compression(self.backbone(self.shrink(self.images(observations, self.join.weight.dtype))))
        return self.join(torch.cat([seen.flatten(1), *self.pose(observations)], dim=1)).relu()


@register_family("resnet50", core_size=CORE_SIZE, core_layers=CORE_LAYERS, check=Images)
def resnet50(observation_space: gym.spaces.Dict) -> Encoder:
    """ResNet-50 with 32 base planes: the paper's."""
    return ResNetEncoder(observation_space, Bottleneck, (3, 4, 6, 3), 32, 2, IMAGE_SIZE, CORE_SIZE)


@register_family("resnet9", core_size=256, check=Images)
def resnet9(observation_space: gym.spaces.Dict) -> Encoder:
    """One basic block per stage with 16 base planes, for images of about 64 × 64 on a CPU (ours)."""
    return ResNetEncoder(observation_space, BasicBlock, (1, 1, 1, 1), 16, 1, 512, 256)


def _ceil(number: int, divisor: int) -> int:
    return -(-number // divisor)

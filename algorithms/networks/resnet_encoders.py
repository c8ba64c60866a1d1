"""The `resnet50` family of the paper's Habitat experiments, and the smaller `resnet9` for CPUs.

As in DD-PPO (habitat-baselines, rl/ddppo/policy/resnet_policy.py, and facebookresearch/e3b): images at half size,
normalised by their running mean and variance, a ResNet with group norm, a 3 × 3 convolution to 2,048 features, a
fully-connected layer of 512. Then, as released:

- `resnet50`, the policy: GPS, compass and previous action join as 32 features each, so that the LSTM (two layers of
  512) has 608 inputs. LSTM and heads start orthogonal, the actions almost equally likely.
- `resnet50-bonus`, the encoder φ of E3B and ICM and both networks of RND and NovelD: GPS and compass join, and three
  layers of 512 take the place of the LSTM, the last of them linear.

`resnet9` is ours: GPS and compass join before its only fully-connected layer, and images are not normalised.
"""

from __future__ import annotations

from collections.abc import Sequence

import gymnasium as gym
import torch
from torch import Tensor, nn

from bonuslab.algorithms.networks.atari import orthogonal
from bonuslab.algorithms.networks.encoder import Encoder, Observations
from bonuslab.algorithms.networks.pixels import Images, Pose, PreviousAction
from bonuslab.algorithms.networks.policy import PolicyNetwork
from bonuslab.algorithms.networks.registry import register_family
from bonuslab.algorithms.networks.resnet import BasicBlock, Bottleneck, ResNet
from bonuslab.algorithms.networks.running_moments import RunningMoments

CORE_SIZE = 512
CORE_LAYERS = 2
IMAGE_SIZE = 2048
"""Image features before the first fully-connected layer."""


class ResNetTrunk(nn.Module):
    """Images through a ResNet and a compressing convolution."""

    def __init__(
        self,
        observation_space: gym.spaces.Dict,
        block: type[Bottleneck] | type[BasicBlock],
        blocks: Sequence[int],
        base_planes: int,
        shrink: int,
        image_size: int,
        normalise: bool,
    ) -> None:
        """`shrink` is the downscaling of images, `image_size` the (approximate) number of features."""
        super().__init__()
        self.images = Images(observation_space)
        self.shrink = nn.AvgPool2d(shrink) if shrink > 1 else nn.Identity()
        self.normalise = RunningMoments(self.images.channels) if normalise else nn.Identity()
        self.backbone = ResNet(self.images.channels, block, blocks, base_planes)
        cells = _ceil(self.images.height // shrink, 32) * _ceil(self.images.width // shrink, 32)
        maps = max(round(image_size / cells), 1)
        self.compression = nn.Sequential(
            nn.Conv2d(self.backbone.channels, maps, 3, padding=1, bias=False), nn.GroupNorm(1, maps), nn.ReLU()
        )
        self.size = maps * cells

    def forward(self, observations: Observations, dtype: torch.dtype) -> Tensor:
        """[B, size]."""
        images = self.normalise(self.shrink(self.images(observations, dtype)))
        return self.compression(self.backbone(images)).flatten(1)


def start_orthogonal(network: PolicyNetwork) -> None:
    """Orthogonal weights and zero biases of LSTM and heads, those of actions times 0.01, as released."""
    orthogonal(network.policy_head, 0.01)
    orthogonal(network.value_head, 1.0)
    if network.core is not None:
        for weights in network.core.layers.parameters():
            nn.init.zeros_(weights) if weights.dim() == 1 else nn.init.orthogonal_(weights)


@register_family("resnet50", core_size=CORE_SIZE, core_layers=CORE_LAYERS, finish=start_orthogonal, check=Images)
class HabitatEncoder(Encoder):
    """The policy's encoder: 512 visual features, then GPS, compass and previous action."""

    def __init__(self, observation_space: gym.spaces.Dict) -> None:
        super().__init__()
        self.trunk = _resnet50_trunk(observation_space)
        self.visual = nn.Linear(self.trunk.size, CORE_SIZE)
        self.others = nn.ModuleList([Pose(observation_space), PreviousAction(observation_space)])
        self.output_size = CORE_SIZE + sum(part.size for part in self.others)  # type: ignore[misc]

    def forward(self, observations: Observations) -> Tensor:
        """[B, 608]."""
        seen = self.visual(self.trunk(observations, self.visual.weight.dtype)).relu()
        return torch.cat([seen, *(row for part in self.others for row in part(observations))], dim=1)


@register_family("resnet50-bonus", core_size=CORE_SIZE, core_layers=CORE_LAYERS, check=Images)
class HabitatBonusEncoder(Encoder):
    """The bonuses' encoder: 512 visual features joined with GPS and compass, and three layers of 512."""

    output_size = CORE_SIZE

    def __init__(self, observation_space: gym.spaces.Dict) -> None:
        super().__init__()
        self.trunk = _resnet50_trunk(observation_space)
        self.visual = nn.Linear(self.trunk.size, CORE_SIZE)
        self.pose = Pose(observation_space)
        self.layers = nn.Sequential(
            nn.Linear(CORE_SIZE + self.pose.size, CORE_SIZE),
            nn.ReLU(),
            nn.Linear(CORE_SIZE, CORE_SIZE),
            nn.ReLU(),
            nn.Linear(CORE_SIZE, CORE_SIZE),
        )

    def forward(self, observations: Observations) -> Tensor:
        """[B, 512]."""
        seen = self.visual(self.trunk(observations, self.visual.weight.dtype)).relu()
        return self.layers(torch.cat([seen, *self.pose(observations)], dim=1))


@register_family("resnet9", core_size=256, check=Images)
class SmallResNetEncoder(Encoder):
    """One basic block per stage with 16 base planes, for images of about 64 × 64 on a CPU (ours)."""

    output_size = 256

    def __init__(self, observation_space: gym.spaces.Dict) -> None:
        super().__init__()
        self.trunk = ResNetTrunk(observation_space, BasicBlock, (1, 1, 1, 1), 16, 1, 512, normalise=False)
        self.pose = Pose(observation_space)
        self.join = nn.Linear(self.trunk.size + self.pose.size, self.output_size)

    def forward(self, observations: Observations) -> Tensor:
        """[B, 256]."""
        seen = self.trunk(observations, self.join.weight.dtype)
        return self.join(torch.cat([seen, *self.pose(observations)], dim=1)).relu()


def _resnet50_trunk(observation_space: gym.spaces.Dict) -> ResNetTrunk:
    """ResNet-50 with 32 base planes on images of half size: the paper's."""
    return ResNetTrunk(observation_space, Bottleneck, (3, 4, 6, 3), 32, 2, IMAGE_SIZE, normalise=True)


def _ceil(number: int, divisor: int) -> int:
    return -(-number // divisor)

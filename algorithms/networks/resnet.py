"""Residual networks with group norm (He et al., 2016; Wu and He, 2018), as DD-PPO uses them (Wijmans et al., 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor, nn


class Bottleneck(nn.Module):
    """1 × 1 down to `planes`, 3 × 3, 1 × 1 up to four times as many, added to the input."""

    expansion: ClassVar[int] = 4

    def __init__(self, inputs: int, planes: int, groups: int, stride: int) -> None:
        super().__init__()
        outputs = self.expansion * planes
        self.layers = nn.Sequential(
            *_convolution(inputs, planes, 1, groups),
            nn.ReLU(inplace=True),
            *_convolution(planes, planes, 3, groups, stride),
            nn.ReLU(inplace=True),
            *_convolution(planes, outputs, 1, groups),
        )
        self.shortcut = _shortcut(inputs, outputs, groups, stride)

    def forward(self, x: Tensor) -> Tensor:
        """[B, planes · 4, H / stride, W / stride]."""
        return (self.layers(x) + self.shortcut(x)).relu_()


class BasicBlock(nn.Module):
    """Two 3 × 3 convolutions, added to the input."""

    expansion: ClassVar[int] = 1

    def __init__(self, inputs: int, planes: int, groups: int, stride: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *_convolution(inputs, planes, 3, groups, stride),
            nn.ReLU(inplace=True),
            *_convolution(planes, planes, 3, groups),
        )
        self.shortcut = _shortcut(inputs, planes, groups, stride)

    def forward(self, x: Tensor) -> Tensor:
        """[B, planes, H / stride, W / stride]."""
        return (self.layers(x) + self.shortcut(x)).relu_()


class ResNet(nn.Module):
    """A 7 × 7 convolution, a pool, and four stages of blocks of 1, 2, 4 and 8 times `base_planes`.

    The image is downscaled by 4 before the stages and by 2 in each but the first: by 32 in total.
    """

    def __init__(
        self, channels: int, block: type[Bottleneck] | type[BasicBlock], blocks: Sequence[int], base_planes: int
    ) -> None:
        super().__init__()
        groups = base_planes // 2
        stem = [*_convolution(channels, base_planes, 7, groups, 2), nn.ReLU(inplace=True)]
        layers: list[nn.Module] = [nn.Sequential(*stem), nn.MaxPool2d(3, stride=2, padding=1)]
        inputs = base_planes
        for stage, count in enumerate(blocks):
            planes = base_planes * 2**stage
            for number in range(count):
                layers.append(block(inputs, planes, groups, 2 if stage and not number else 1))
                inputs = block.expansion * planes
        self.layers = nn.Sequential(*layers)
        self.channels = inputs

    def forward(self, x: Tensor) -> Tensor:
        """[B, channels, H / 32, W / 32], rounded up."""
        return self.layers(x)


def _convolution(inputs: int, outputs: int, kernel: int, groups: int, stride: int = 1) -> list[nn.Module]:
    """A convolution with same padding and its group norm."""
    convolution = nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)
    nn.init.kaiming_normal_(convolution.weight, nonlinearity="relu")
    return [convolution, nn.GroupNorm(groups, outputs)]


def _shortcut(inputs: int, outputs: int, groups: int, stride: int) -> nn.Module:
    if inputs == outputs and stride == 1:
        return nn.Identity()
    return nn.Sequential(*_convolution(inputs, outputs, 1, groups, stride))

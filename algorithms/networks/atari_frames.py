"""The bonus networks of the paper's Montezuma appendix: one whitened frame in, 512 features out."""

from __future__ import annotations

import math

from torch import nn

from bonuslab.algorithms.networks.atari import orthogonal

FRAME_FEATURES = 512
_GAIN = math.sqrt(2)


def frame_target() -> nn.Sequential:
    """RND's target: three convolutions with leaky ReLUs and one fully-connected layer, [B, 1, 84, 84] -> [B, 512]."""
    return nn.Sequential(*_convolutions(), _linear(7 * 7 * 64))


def frame_predictor() -> nn.Sequential:
    """RND's predictor and E3B's encoder: the target's architecture plus two fully-connected layers with ReLUs."""
    layers: list[nn.Module] = [*_convolutions(), _linear(7 * 7 * 64)]
    for _ in range(2):
        layers += [nn.ReLU(), _linear(FRAME_FEATURES)]
    return nn.Sequential(*layers)


def _convolutions() -> list[nn.Module]:
    layers: list[nn.Module] = []
    for inputs, outputs, kernel, stride in ((1, 32, 8, 4), (32, 64, 4, 2), (64, 64, 3, 1)):
        layers += [orthogonal(nn.Conv2d(inputs, outputs, kernel, stride), _GAIN), nn.LeakyReLU()]
    return [*layers, nn.Flatten()]


def _linear(inputs: int) -> nn.Linear:
    return orthogonal(nn.Linear(inputs, FRAME_FEATURES), _GAIN)

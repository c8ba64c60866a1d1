"""Small networks on top of an encoder: inverse and forward models."""

from __future__ import annotations

import math

from torch import nn

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.networks.atari import orthogonal


def head(setting: Setting, inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    """inputs → hidden, ReLU → outputs; as released with orthogonal weights (gains √2 and 1) and zero biases."""
    first, last = nn.Linear(inputs, hidden), nn.Linear(hidden, outputs)
    if setting.variant != "ours":
        first, last = orthogonal(first, math.sqrt(2)), orthogonal(last, 1.0)
    return nn.Sequential(first, nn.ReLU(), last).to(setting.device)

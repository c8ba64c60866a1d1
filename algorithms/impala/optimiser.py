"""The policy's optimiser."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch


def make_optimiser(config: Any, parameters: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
    """RMSProp with the paper's constants, or Adam."""
    if config.optimiser == "rmsprop":
        return torch.optim.RMSprop(
            parameters,
            lr=config.lr,
            alpha=config.rmsprop_smoothing,
            eps=config.rmsprop_epsilon,
            momentum=config.rmsprop_momentum,
        )
    return torch.optim.Adam(parameters, lr=config.lr, eps=config.adam_epsilon)

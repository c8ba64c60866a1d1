"""Adam with gradient clipping, as the released code trains every bonus network."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import torch

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.data.finite import require_finite

MAX_GRADIENT_NORM = 40.0


class ClippedAdam:
    """Adam whose gradients are averaged over replicas and clipped by norm, each network on its own."""

    def __init__(self, name: str, networks: Sequence[torch.nn.Module], setting: Setting, learning_rate: float) -> None:
        self._name = name
        self._setting = setting
        self._parameters = [
            [parameter for parameter in network.parameters() if parameter.requires_grad] for network in networks
        ]
        self._adam = torch.optim.Adam(chain(*self._parameters), lr=learning_rate)

    def zero_grad(self) -> None:
        """Reset gradients."""
        self._adam.zero_grad(set_to_none=True)

    def step(self, loss: torch.Tensor, weight: float = 1.0) -> float:
        """Backpropagate `loss`, a sum divided by `weight`, and take one step; returns the loss."""
        require_finite(f"{self._name} loss", loss.detach())
        self.zero_grad()
        loss.backward()
        self.apply_gradients(weight)
        return float(loss.detach())

    def apply_gradients(self, weight: float) -> None:
        """Average over replicas, clip and step, after a `backward` elsewhere."""
        for parameters in self._parameters:
            self._setting.collectives.average_gradients(parameters, weight)
            torch.nn.utils.clip_grad_norm_(parameters, MAX_GRADIENT_NORM)
        self._adam.step()

    def state_dict(self) -> dict[str, Any]:
        """Adam's moments."""
        return self._adam.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`."""
        self._adam.load_state_dict(state)

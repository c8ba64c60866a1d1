"""Adam or RMSProp with gradient clipping, for all networks that bonuses train."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, Literal

import torch

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.data.finite import require_finite
from bonuslab.algorithms.learning.no_compile import Adam, RMSprop

OptimiserKind = Literal["adam", "rmsprop"]
"""As released: Adam for E3B and in combinations, RMSProp for RIDE, ICM and RND alone."""


class ClippedOptimiser:
    """An optimiser whose gradients are averaged over replicas and clipped by norm, each network on its own.

    RMSProp has the constants of the policy's in the paper's table (α 0.99, ε 1e-5).
    """

    def __init__(
        self,
        name: str,
        networks: Sequence[torch.nn.Module],
        setting: Setting,
        learning_rate: float,
        kind: OptimiserKind = "adam",
    ) -> None:
        self._name = name
        self._setting = setting
        self._parameters = [
            [parameter for parameter in network.parameters() if parameter.requires_grad] for network in networks
        ]
        trained = chain(*self._parameters)
        self._optimiser: torch.optim.Optimizer = (
            Adam(trained, lr=learning_rate, fused=True)
            if kind == "adam"
            else RMSprop(trained, lr=learning_rate, alpha=0.99, eps=1e-5)
        )

    def zero_grad(self) -> None:
        """Reset gradients."""
        self._optimiser.zero_grad(set_to_none=True)

    def step(self, loss: torch.Tensor, weight: float = 1.0) -> float:
        """Backpropagate `loss`, a sum divided by `weight`, and take one step; returns the loss."""
        require_finite(f"{self._name} loss", loss.detach())
        self.zero_grad()
        loss.backward()
        self.apply_gradients(weight)
        return float(loss.detach())

    def apply_gradients(self, weight: float) -> None:
        """Average over replicas in one exchange, clip and step, after a `backward` elsewhere."""
        self._setting.collectives.average_gradients(list(chain(*self._parameters)), weight)
        for parameters in self._parameters:
            torch.nn.utils.clip_grad_norm_(parameters, self._setting.grad_clip)
        self._optimiser.step()

    def state_dict(self) -> dict[str, Any]:
        """Moments of the gradients."""
        return self._optimiser.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`."""
        self._optimiser.load_state_dict(state)

"""Adam with a gradient clip, as the released code trains every bonus network."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.data.finite import require_finite


class ClippedAdam:
    """Adam whose gradients are averaged over replicas and clipped by norm before each step."""

    def __init__(
        self,
        what: str,
        parameters: Iterable[torch.nn.Parameter],
        setting: Setting,
        learning_rate: float = 1e-4,
        max_gradient_norm: float = 40.0,
    ) -> None:
        self._what = what
        self._parameters = list(parameters)
        self._setting = setting
        self._max_gradient_norm = max_gradient_norm
        self._adam = torch.optim.Adam(self._parameters, lr=learning_rate)

    def zero_grad(self) -> None:
        """Forget gradients."""
        self._adam.zero_grad(set_to_none=True)

    def step(self, loss: torch.Tensor, weight: float = 1.0) -> float:
        """Backpropagate `loss`, a sum that was divided by `weight`, and take one step; returns the loss."""
        require_finite(f"{self._what} loss", loss.detach())
        self.zero_grad()
        loss.backward()
        self.apply_gradients(weight)
        return float(loss.detach())

    def apply_gradients(self, weight: float = 1.0) -> None:
        """Average over replicas, clip and step, where somebody else has called backward."""
        self._setting.replicas.average_gradients(self._parameters, weight)
        torch.nn.utils.clip_grad_norm_(self._parameters, self._max_gradient_norm)
        self._adam.step()

    def state_dict(self) -> dict[str, Any]:
        """Adam's moments."""
        return self._adam.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`."""
        self._adam.load_state_dict(state)

"""No bonus: the baseline."""

from __future__ import annotations

import torch

from bonuslab.algorithms.bonuses.algebra.base import Bonus
from bonuslab.algorithms.bonuses.algebra.registry import register
from bonuslab.algorithms.data.fragment import Fragment


@register("none")
class NoBonus(Bonus):
    """b(s_t) = 0: the agent learns from the extrinsic reward alone (plain IMPALA in the paper)."""

    scope = "none"
    equation = "0"
    when = "The baseline, and tasks with dense rewards."

    def compute(self, fragment: Fragment) -> torch.Tensor:
        """[T, N]: zeros."""
        return torch.zeros(fragment.action.shape)

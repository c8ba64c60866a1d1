"""RND (Burda et al., 2019): how badly a predictor knows a fixed random network's view of the state."""

from __future__ import annotations

from typing import Literal

import torch

from bonuslab.algorithms.bonuses.base import Bonus, Metrics
from bonuslab.algorithms.bonuses.registry import register
from bonuslab.algorithms.bonuses.setting import Setting
from bonuslab.algorithms.bonuses.sources.distillation import distillation
from bonuslab.algorithms.fragment import Fragment


@register("rnd")
class RND(Bonus):
    """b_t = ‖f(s_{t+1}) − f̄(s_{t+1})‖ ("reference"), or ‖f(s_t) − f̄(s_t)‖² ("paper").

    f̄ is a fixed random network, f a predictor trained on the states visited. `networks` says which: "shared" is a
    frozen random encoder with a small target and a deeper predictor on top, as the combined bonuses were run; "full"
    is two whole encoders, as RND alone was run. Terms with equal parameters share one predictor.
    """

    networks: Literal["shared", "full"] = "shared"
    """Small heads on a frozen random encoder (default, cheap), or two whole encoders (RND alone)."""
    convention: Literal["reference", "paper"] = "reference"
    """Norm of the error at s_{t+1} (what was run), or its square at s_t (the paper's equation)."""
    learning_rate: float = 1e-4
    """The predictor's, with Adam (paper's table)."""

    scope = "global"
    equation = "‖f(s_{t+1}) − f̄(s_{t+1})‖₂"
    when = "One environment, or contexts that look alike."

    def setup(self, setting: Setting) -> None:
        self._source = distillation(setting, self.networks, self.convention, self.learning_rate)

    def compute(self, fragment: Fragment) -> torch.Tensor:
        T, N = fragment.action.shape
        novelty = self._source.novelty(fragment)
        if self.convention == "paper":
            return novelty[: T * N].view(T, N)
        return novelty[torch.from_numpy(fragment.next_state_index())]

    def learn(self, fragment: Fragment) -> Metrics:
        return self._source.learn(fragment)

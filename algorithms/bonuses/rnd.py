"""RND (Burda et al., 2019): the error of a predictor of a fixed random network."""

from __future__ import annotations

from typing import Literal

import torch

from bonuslab.algorithms.bonuses.algebra.base import Bonus, Metrics
from bonuslab.algorithms.bonuses.algebra.registry import register
from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.models.distillation import distillation
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.envs.errors import InvalidInput


@register("rnd")
class RND(Bonus):
    """b_t = ‖f(s_{t+1}) − f̄(s_{t+1})‖ ("reference"), or ‖f(s_t) − f̄(s_t)‖² ("paper").

    f̄ is a fixed random network, f a predictor trained on visited states. `networks` selects them, each as released:
    "shared" is a frozen random encoder with a small target and a deeper predictor on top (combined bonuses); "full" is
    two whole encoders (RND alone); "atari" has separate networks on the last frame, whitened by its running moments,
    and b_t = ½ ‖f(s_{t+1}) − f̄(s_{t+1})‖² (Montezuma's Revenge). Terms with equal parameters share one predictor.
    """

    networks: Literal["shared", "full", "atari"] = "shared"
    """Small heads on a frozen random encoder (cheap), two whole encoders, or those of Montezuma's Revenge."""
    convention: Literal["reference", "paper"] = "reference"
    """Norm of the error at s_{t+1} (as released), or its square at s_t (the paper's equation)."""
    learning_rate: float = 1e-4
    """Of the predictor, with Adam (paper's table)."""
    keep: float = 1.0
    """Random fraction of the states that each update trains on; 0.25 on Montezuma (UpdateProportion)."""

    scope = "global"
    equation = "‖f(s_{t+1}) − f̄(s_{t+1})‖₂"
    when = "A single environment, or contexts that look alike."

    def __post_init__(self) -> None:
        if not 0 < self.keep <= 1:
            raise InvalidInput(f"rnd: keep must be above 0 and at most 1, not {self.keep:g}")

    def setup(self, setting: Setting) -> None:
        self._model = distillation(setting, self.networks, self.convention, self.learning_rate, self.keep)

    def compute(self, fragment: Fragment) -> torch.Tensor:
        T, N = fragment.action.shape
        novelty = self._model.novelty(fragment)
        if self.convention == "paper":
            return novelty[: T * N].view(T, N)
        return novelty[torch.from_numpy(fragment.next_state_index())]

    def learn(self, fragment: Fragment) -> Metrics:
        return self._model.learn(fragment)

"""RIDE (Raileanu and Rocktäschel, 2020): rewards actions that change the state, discounted by episodic counts."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch

from bonuslab.algorithms.bonuses.algebra.base import Bonus, Metrics
from bonuslab.algorithms.bonuses.algebra.registry import register
from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.algebra.variants import varies
from bonuslab.algorithms.bonuses.features.state_features import check_feature
from bonuslab.algorithms.bonuses.memory.episodic_counter import EpisodicCounter
from bonuslab.algorithms.bonuses.models.forward_dynamics import forward_dynamics
from bonuslab.algorithms.bonuses.models.optimiser import OptimiserKind
from bonuslab.algorithms.data.fragment import Fragment


@register("ride")
class RIDE(Bonus):
    """b_t = ‖φ(s_{t+1}) − φ(s_t)‖ / √N_e(ψ(s_{t+1})).

    φ is learnt by inverse and forward dynamics. RIDE's paper and code divide by the count of s_{t+1} ("reference"); the
    study's equation has N_e(s_t) ("paper").
    """

    feature: str = "observation"
    """ψ of the episodic count."""
    convention: Literal["reference", "paper", "released"] = varies("reference", minihack="released")
    """N_e of s_{t+1} after counting it (RIDE), of s_t (the study's equation), or of s_{t+1} counted as
    `count.episodic(convention=released)`."""
    forward_coefficient: float = varies(10.0, minihack=1.0)
    """Weight of the forward model's loss, here the norm of the error (RIDE's own code; MiniHack: released code)."""
    inverse_coefficient: float = 0.1
    """Weight of the inverse model's loss (RIDE's own code, released code)."""
    learning_rate: float = 1e-4
    """Of encoder and both models."""
    optimiser: OptimiserKind = varies("adam", minihack="rmsprop")
    """RMSProp on MiniHack: released code."""

    _non_negative = ("forward_coefficient", "inverse_coefficient", "learning_rate")
    scope = "episodic"
    equation = "‖φ(s_{t+1}) − φ(s_t)‖₂ / √N_e(s_{t+1})"
    when = "Contexts that differ, with doors, keys and other objects to manipulate."

    def __post_init__(self) -> None:
        check_feature(self.feature)

    def setup(self, setting: Setting) -> None:
        self._model = forward_dynamics(
            setting, "norm", self.forward_coefficient, self.inverse_coefficient, self.learning_rate, self.optimiser
        )
        self._counter = EpisodicCounter(self.feature, setting, released=self.convention == "released")

    def compute(self, fragment: Fragment) -> torch.Tensor:
        features = self._model.features(fragment)
        impact = (features.following - features.current).detach().norm(dim=-1)  # [T, N]
        visits = self._counter.count(fragment)
        counted = visits.current if self.convention == "paper" else visits.following
        return impact * torch.from_numpy(1 / np.sqrt(counted)).to(impact.device)

    def learn(self, fragment: Fragment) -> Metrics:
        return self._model.learn(fragment)

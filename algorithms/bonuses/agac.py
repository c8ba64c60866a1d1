"""AGAC (Flet-Berliac et al., 2021): rewards actions that an adversary imitating the policy fails to predict."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch

from bonuslab.algorithms.bonuses.algebra.base import Bonus, Metrics, Scope
from bonuslab.algorithms.bonuses.algebra.registry import register
from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.algebra.variants import varies
from bonuslab.algorithms.bonuses.features.state_features import check_feature
from bonuslab.algorithms.bonuses.memory.episodic_counter import EpisodicCounter
from bonuslab.algorithms.bonuses.models.adversary import adversary
from bonuslab.algorithms.data.fragment import Fragment


@register("agac")
class AGAC(Bonus):
    """b_t = D_KL(π(·|s_t) ‖ π_adv(·|s_t)) + β / √N_e(ψ(s_{t+1})), with β = `episodic_coefficient`.

    π is the policy that acted, π_adv a network of the same family that learns to imitate it at a smaller learning rate.
    With β = 0 (the default) this is the global term that the paper's appendix combines with E3B. The paper writes
    N_e(s_t); the released code counts s_{t+1}, as everywhere.
    """

    episodic_coefficient: float = 0.0
    """β, the weight of the episodic count; 0 disables it."""
    feature: str = "observation"
    """ψ of the episodic count."""
    convention: Literal["reference", "paper", "released"] = varies("reference", minihack="released")
    """N_e of s_{t+1} after counting it, of s_t (the paper's equation), or of s_{t+1} counted as
    `count.episodic(convention=released)`."""
    learning_rate: float = 3e-5
    """Of the adversary, with Adam (paper's table)."""
    loss_coefficient: float = 4e-5
    """Factor of the adversary's loss (paper's table)."""

    learns_from_compute = True  # the adversary's recurrent state before the fragment
    _non_negative = ("episodic_coefficient", "learning_rate", "loss_coefficient")
    equation = "D_KL(π(·|s_t) ‖ π_adv(·|s_t)) + β / √N_e(s_{t+1})"
    when = "When new behaviour matters more than new states."

    def __post_init__(self) -> None:
        check_feature(self.feature)

    @property
    def scope(self) -> Scope:  # type: ignore[override]
        """Combined with the episodic count, global without."""
        return "combined" if self.episodic_coefficient else "global"

    def setup(self, setting: Setting) -> None:
        self._adversary = adversary(setting, self.learning_rate, self.loss_coefficient)
        released = self.convention == "released"
        self._counter = EpisodicCounter(self.feature, setting, released) if self.episodic_coefficient else None

    def compute(self, fragment: Fragment) -> torch.Tensor:
        bonus = self._adversary.divergence(fragment).detach().clamp(min=0)  # rounding errors can be negative
        if self._counter is None:
            return bonus
        visits = self._counter.count(fragment)
        counted = visits.current if self.convention == "paper" else visits.following  # [T, N]
        return bonus + torch.from_numpy(self.episodic_coefficient / np.sqrt(counted)).to(bonus.device)

    def learn(self, fragment: Fragment) -> Metrics:
        return self._adversary.learn(fragment)

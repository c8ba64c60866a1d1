"""The elliptical bonus over all experience, with kernel or encoder features (PC-PG; Agarwal et al., 2020)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import torch

from bonuslab.algorithms.bonuses.algebra.base import Bonus, Metrics
from bonuslab.algorithms.bonuses.algebra.registry import register
from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.memory.covariance_root import CovarianceRoot
from bonuslab.algorithms.bonuses.memory.joint_experience import join_in_time
from bonuslab.algorithms.bonuses.models.inverse_dynamics import inverse_dynamics
from bonuslab.algorithms.bonuses.models.kernel_features import kernel_features
from bonuslab.algorithms.bonuses.models.random_encoder import random_encoder
from bonuslab.algorithms.bonuses.models.shared_model import SharedModel
from bonuslab.algorithms.data.finite import require_finite
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.envs.errors import InvalidInput

_ONLY_FOR = {"points": "rbf", "centres": "rbf", "bandwidth": "rbf", "learning_rate": "inverse"}


@register("elliptical.global")
class EllipticalGlobal(Bonus):
    """b_t = ψ(s_t)ᵀ [Σ_{all earlier i} ψ(s_i)ψ(s_i)ᵀ + λI]⁻¹ ψ(s_t) (appendix "Examples of ψ functions").

    Earlier states are those of all envs and fragments, in order of time, then of envs, with the features they had when
    they were visited. Each fragment extends the triangular root of the covariance (`CovarianceRoot`), so there is no
    inverse that could drift.
    """

    features: Literal["rbf", "inverse", "random"] = "rbf"
    """ψ: an RBF kernel with n centres, an encoder learnt by inverse dynamics, or a fixed random encoder."""
    ridge: float = 0.1
    """λ."""
    points: Literal["position", "blstats"] = "position"
    """Input of the kernel; features=rbf only."""
    centres: int = 256
    """n, the first n distinct points seen; features=rbf only."""
    bandwidth: float = 1.0
    """h of exp(−‖x − c‖² / 2h²); features=rbf only."""
    learning_rate: float = 1e-4
    """Of the encoder and its head; features=inverse only."""

    _positive = ("ridge", "centres", "bandwidth")
    scope = "global"
    equation = "ψ(s_t)ᵀ [Σ_{all earlier i} ψ(s_i)ψ(s_i)ᵀ + λI]⁻¹ ψ(s_t)"
    when = "A single environment with many or continuous states: counts that generalise."

    def __post_init__(self) -> None:
        for name, features in _ONLY_FOR.items():
            if self.features != features and getattr(self, name) != getattr(type(self), name):
                raise InvalidInput(f"elliptical.global: {name} has no effect without features={features}")

    def setup(self, setting: Setting) -> None:
        self.model = self._make_model(setting)
        self._root: CovarianceRoot | None = None

    def compute(self, fragment: Fragment) -> torch.Tensor:
        features = self.model.features(fragment).current.detach()  # [T, N, d]
        require_finite("features of the global elliptical bonus", features)
        T, N, d = features.shape
        rows = features.reshape(T * N, d).cpu().numpy().astype(np.float64) / np.sqrt(self.ridge)
        root = self._root or CovarianceRoot.identity(d)
        joint = join_in_time(self.setting.collectives, np.repeat(np.arange(T), N), rows)
        bonus, self._root = root.extend(joint.rows)
        return torch.from_numpy(bonus[joint.own].reshape(T, N)).to(features.device)

    def learn(self, fragment: Fragment) -> Metrics:
        return self.model.learn(fragment)

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "root": self._root}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._root = state["root"]

    def _make_model(self, setting: Setting) -> SharedModel:
        if self.features == "rbf":
            return kernel_features(setting, self.points, self.centres, self.bandwidth)
        return inverse_dynamics(setting, self.learning_rate) if self.features == "inverse" else random_encoder(setting)

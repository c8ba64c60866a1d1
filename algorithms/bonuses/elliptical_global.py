"""The elliptical bonus over all experience, in the space of a kernel or of an encoder (PC-PG; Agarwal et al., 2020)."""

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
from bonuslab.algorithms.bonuses.models.source import Source
from bonuslab.algorithms.data.finite import require_finite
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.envs.errors import InvalidInput

_ONLY_FOR = {"points": "rbf", "centres": "rbf", "bandwidth": "rbf", "learning_rate": "inverse"}


@register("elliptical.global")
class EllipticalGlobal(Bonus):
    """b_t = ψ(s_t)ᵀ [Σ_{all earlier i} ψ(s_i)ψ(s_i)ᵀ + λI]⁻¹ ψ(s_t) (appendix "Examples of ψ functions").

    Earlier states are those of all envs in the order of time, at equal times in the order of envs, and of all
    fragments before. ψ of a state enters the covariance as it was when the state was seen. Each fragment extends the
    triangular root of the covariance (`CovarianceRoot`), so no inverse is kept that could drift.
    """

    features: Literal["rbf", "inverse", "random"] = "rbf"
    """ψ: a kernel to n centres, an encoder learnt by inverse dynamics, or a fixed random encoder."""
    ridge: float = 0.1
    """λ."""
    points: Literal["position", "blstats"] = "position"
    """What the kernel compares; features=rbf only."""
    centres: int = 256
    """n; features=rbf only. The first n distinct points seen."""
    bandwidth: float = 1.0
    """h of exp(−‖x − c‖² / 2h²); features=rbf only."""
    learning_rate: float = 1e-4
    """Of the encoder and its head; features=inverse only."""

    scope = "global"
    equation = "ψ(s_t)ᵀ [Σ_{all earlier i} ψ(s_i)ψ(s_i)ᵀ + λI]⁻¹ ψ(s_t)"
    when = "One environment whose states are continuous or many: counts that generalise."

    def __post_init__(self) -> None:
        for name in ("ridge", "centres", "bandwidth"):
            if not getattr(self, name) > 0:
                raise InvalidInput(f"elliptical.global: {name} must be positive, not {getattr(self, name):g}")
        for name, features in _ONLY_FOR.items():
            if self.features != features and getattr(self, name) != getattr(type(self), name):
                raise InvalidInput(f"elliptical.global: {name} would change nothing without features={features}")

    def setup(self, setting: Setting) -> None:
        self.source = self._make_source(setting)
        self._root: CovarianceRoot | None = None

    def compute(self, fragment: Fragment) -> torch.Tensor:
        features = self.source.features(fragment).current.detach()  # [T, N, d]
        require_finite("features of the global elliptical bonus", features)
        T, N, d = features.shape
        rows = features.reshape(T * N, d).cpu().numpy().astype(np.float64) / np.sqrt(self.ridge)
        root = self._root or CovarianceRoot.identity(d)
        joint = join_in_time(self.setting.replicas, np.repeat(np.arange(T), N), rows)
        bonus, self._root = root.extend(joint.rows)
        return torch.from_numpy(bonus[joint.own].reshape(T, N)).to(features.device)

    def learn(self, fragment: Fragment) -> Metrics:
        return self.source.learn(fragment)

    def state_dict(self) -> dict[str, Any]:
        return {"bonus": str(self), "root": self._root}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state.get("bonus") != str(self):
            raise ValueError(f"saved state is of {state.get('bonus')!r}, this bonus is {str(self)!r}")
        self._root = state["root"]

    def _make_source(self, setting: Setting) -> Source:
        if self.features == "rbf":
            return kernel_features(setting, self.points, self.centres, self.bandwidth)
        return inverse_dynamics(setting, self.learning_rate) if self.features == "inverse" else random_encoder(setting)

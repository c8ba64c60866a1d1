"""E3B: exploration via elliptical episodic bonuses (Henaff et al., 2022)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch

from bonuslab.algorithms.bonuses.algebra.base import Bonus, Metrics
from bonuslab.algorithms.bonuses.algebra.registry import register
from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.algebra.variants import varies
from bonuslab.algorithms.bonuses.memory.elliptical import EpisodicElliptical
from bonuslab.algorithms.bonuses.models.frame_encoder import frame_encoder
from bonuslab.algorithms.bonuses.models.inverse_dynamics import inverse_dynamics
from bonuslab.algorithms.bonuses.models.policy_encoder import policy_encoder
from bonuslab.algorithms.bonuses.models.random_encoder import random_encoder
from bonuslab.algorithms.bonuses.models.shared_model import SharedModel
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.envs.errors import InvalidInput


@register("e3b")
class E3B(Bonus):
    """b_t = φ(s_t)ᵀ [Σ_{i=t₀}^{t−1} φ(s_i)φ(s_i)ᵀ + λI]⁻¹ φ(s_t), the sum over this episode's earlier states.

    Earlier states keep the features they had when they were visited. One forward pass of φ serves the bonus and the
    inverse-dynamics loss. The first step of an episode gets no bonus with "reference" (as released for MiniHack) and
    ‖φ‖²/λ with "paper" (the equation, and as released for Habitat).
    """

    ridge: float = 0.1
    """λ: paper's table; 1.0 in Montezuma's Revenge."""
    encoder: Literal["inverse", "random", "policy", "atari"] = "inverse"
    """φ: learnt by inverse dynamics, a fixed random network, the policy's encoder, or Montezuma's fixed random network
    on the whitened last frame."""
    convention: Literal["reference", "paper"] = varies("reference", habitat="paper")
    """Whether the first step is paid."""
    learning_rate: float = varies(1e-4, habitat=2.5e-4)
    """Of φ and its inverse-dynamics head, with Adam; encoder=inverse only. Paper's table; Habitat: released code."""

    _positive = ("ridge",)
    scope = "episodic"
    equation = "φ(s_t)ᵀ [Σ_{i<t in episode} φ(s_i)φ(s_i)ᵀ + λI]⁻¹ φ(s_t)"
    when = "Contexts that differ and states that rarely repeat; needs no hand-picked feature."

    def __post_init__(self) -> None:
        if self.encoder != "inverse" and self.learning_rate != type(self).learning_rate:
            raise InvalidInput(f"e3b: encoder={self.encoder} does not learn, so learning_rate has no effect")
        self.needs_policy_features = self.encoder == "policy"

    def setup(self, setting: Setting) -> None:
        self.model = self._make_model(setting)
        self._elliptical = EpisodicElliptical(self.ridge)

    def compute(self, fragment: Fragment) -> torch.Tensor:
        features = self.model.features(fragment).current.detach()  # [T, N, d]
        return self._elliptical.compute(fragment, features, pay_first=self.convention == "paper")

    def learn(self, fragment: Fragment) -> Metrics:
        return self.model.learn(fragment)

    def _make_model(self, setting: Setting) -> SharedModel:
        if self.encoder == "inverse":
            return inverse_dynamics(setting, self.learning_rate)
        makers: dict[str, Callable[[Setting], SharedModel]] = {
            "random": random_encoder,
            "policy": policy_encoder,
            "atari": frame_encoder,
        }
        return makers[self.encoder](setting)

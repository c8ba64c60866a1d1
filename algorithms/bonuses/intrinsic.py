"""The intrinsic reward of a fragment: an expression built, normalised, scaled, trained and saved as one."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from bonuslab.algorithms.bonuses.base import Bonus, Metrics
from bonuslab.algorithms.bonuses.combinators import combine, restrict
from bonuslab.algorithms.bonuses.normalise import Normaliser, make_normaliser
from bonuslab.algorithms.bonuses.setting import Setting
from bonuslab.algorithms.bonuses.terms import Terms
from bonuslab.algorithms.finite import require_finite
from bonuslab.algorithms.fragment import Fragment
from bonuslab.envs.errors import InvalidInput, unknown

NormaliseAt = Literal["combined", "terms"]


@dataclass(frozen=True)
class IntrinsicBatch:
    """The intrinsic reward of one fragment and its parts, [T, N] float32 each."""

    bonus: np.ndarray
    """coefficient × the normalised expression: what is added to the extrinsic reward."""
    bonus_raw: np.ndarray
    """The expression before normalisation and coefficient."""
    bonus_episodic: np.ndarray
    """The raw expression restricted to its episodic terms (see `combinators.restrict`); zeros where it has none."""
    bonus_global: np.ndarray
    """The raw expression restricted to its global terms; zeros where it has none."""
    metrics: Metrics

    def columns(self) -> dict[str, np.ndarray]:
        """The arrays by name, for `Fragment.extra`."""
        return {
            "bonus": self.bonus,
            "bonus_raw": self.bonus_raw,
            "bonus_episodic": self.bonus_episodic,
            "bonus_global": self.bonus_global,
        }


class IntrinsicModel:
    """One bonus expression at work: all that lies between a fragment and its intrinsic reward.

    `normalise` is `std`, `reference` or `none`; `normalise_at` says what is divided by its σ: the `combined` bonus, as
    in the paper, or each of its `terms` before they are combined. σ takes in a fragment before it is divided.
    """

    def __init__(
        self,
        bonus: Bonus,
        setting: Setting,
        normalise: str = "std",
        normalise_at: NormaliseAt = "combined",
        coefficient: float = 1.0,
    ) -> None:
        if normalise_at not in ("combined", "terms"):
            raise unknown("place to normalise", normalise_at, ["combined", "terms"])
        if not np.isfinite(coefficient):
            raise InvalidInput(f"the intrinsic coefficient must be finite, not {coefficient}")
        self.bonus = bonus
        self.setting = setting
        self.coefficient = coefficient
        self._normalise = normalise
        self._normalise_at = normalise_at
        self._terms = Terms(bonus, setting)
        parts = self._terms.labels.values() if normalise_at == "terms" else ["combined"]
        self._normalisers = {part: make_normaliser(normalise) for part in parts}
        self._episodic = restrict(bonus, "episodic")
        self._global = restrict(bonus, "global")

    def process(self, fragment: Fragment, learn: bool = True) -> IntrinsicBatch:
        """The intrinsic reward of the fragment, after which the models learn from it.

        Call it once a fragment, in order: episodic memory and counts advance. With `learn=False` no network and no
        normaliser changes.
        """
        raw = self._terms.compute(fragment)
        combined = combine(self.bonus, raw)
        bonus_raw = _column("bonus_raw", combined)  # before the normaliser sees it
        metrics: Metrics = {}
        if self._normalise_at == "terms":
            scaled = {}
            for term, value in raw.items():
                label = self._terms.labels[term]
                scaled[term] = self._divide(label, value, learn)
                metrics[f"term/{label}/normalised_mean"] = float(scaled[term].mean())
                metrics[f"term/{label}/sigma"] = self._normalisers[label].sigma
            normalised = combine(self.bonus, scaled)
        else:
            normalised = self._divide("combined", combined, learn)
            metrics["bonus/sigma"] = self._normalisers["combined"].sigma
        batch = IntrinsicBatch(
            bonus=_column("bonus", self.coefficient * normalised),
            bonus_raw=bonus_raw,
            bonus_episodic=_column("bonus_episodic", self._part(self._episodic, raw, combined)),
            bonus_global=_column("bonus_global", self._part(self._global, raw, combined)),
            metrics=metrics,
        )
        metrics |= {f"{name}/mean": float(values.mean()) for name, values in batch.columns().items()}
        metrics["bonus/max"] = float(batch.bonus.max())
        metrics |= {f"term/{self._terms.labels[term]}/raw_mean": float(value.mean()) for term, value in raw.items()}
        if learn:
            metrics |= {f"learn/{key}": value for key, value in self._terms.learn(fragment).items()}
        return batch

    def state_dict(self) -> dict[str, Any]:
        """A snapshot of everything learnt and remembered, which later steps do not change."""
        return copy.deepcopy(
            {
                **self._identity(),
                "sources": self.setting.state_dict(),
                "terms": self._terms.state_dict(),
                "normalisers": {part: normaliser.state_dict() for part, normaliser in self._normalisers.items()},
            }
        )

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`; the state of another bonus, network or normalisation is refused."""
        for what, ours in self._identity().items():
            if what not in state:
                raise InvalidInput(f"this is no state of an intrinsic model: it does not say its {what}")
            if state[what] != ours:
                raise InvalidInput(f"this state was saved with {what} {state[what]!r}; this model has {ours!r}")
        own = copy.deepcopy(state)
        self.setting.load_state_dict(own["sources"])
        self._terms.load_state_dict(own["terms"])
        for part, normaliser in self._normalisers.items():
            normaliser.load_state_dict(own["normalisers"][part])

    def _identity(self) -> dict[str, str]:
        return {
            "bonus": str(self.bonus),
            "network": self.setting.network,
            "normalise": self._normalise,
            "normalise_at": self._normalise_at,
        }

    def _divide(self, part: str, values: torch.Tensor, learn: bool) -> torch.Tensor:
        normaliser: Normaliser = self._normalisers[part]
        if learn:
            normaliser.update(values.numpy())
        sigma = torch.tensor(normaliser.sigma, dtype=torch.float64)
        return values / require_finite(f"σ of {part}", sigma)

    @staticmethod
    def _part(expression: Bonus | None, raw: dict[Bonus, torch.Tensor], like: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(like) if expression is None else combine(expression, raw)


def total_reward(extrinsic: np.ndarray, bonus: np.ndarray, clip: float | None) -> np.ndarray:
    """[T, N] float32: extrinsic + bonus, clipped to [−clip, clip] unless `clip` is None. A new array."""
    total = np.asarray(extrinsic, np.float32) + np.asarray(bonus, np.float32)
    if clip is None:
        return total
    if not clip > 0:
        raise InvalidInput(f"the reward clip must be positive or none, not {clip}")
    return np.clip(total, -clip, clip)


def _column(name: str, values: torch.Tensor) -> np.ndarray:
    return require_finite(name, values.to(torch.float32)).numpy()

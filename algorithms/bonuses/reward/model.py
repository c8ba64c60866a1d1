"""The intrinsic reward of a fragment: an expression built, normalised, scaled, trained and saved as one."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from bonuslab.algorithms.bonuses.algebra.base import Bonus, Metrics
from bonuslab.algorithms.bonuses.algebra.combinators import combine, restrict
from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.algebra.terms import Terms
from bonuslab.algorithms.bonuses.models.source import Source
from bonuslab.algorithms.bonuses.reward.normalise import make_normaliser
from bonuslab.algorithms.data.finite import require_finite
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.envs.errors import InvalidInput, unknown

NormaliseAt = Literal["combined", "terms"]
_COMBINED = "combined bonus"
"""The part of the whole expression among those that have a σ; the space keeps it apart from any term's name."""


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

    Metrics of a term are the same in both cases: `raw_mean`, `sigma`, the σ of that term alone, and `normalised_mean`,
    their ratio. σ of the combined bonus would say little about a term: a product's has the unit of all its factors.
    """

    def __init__(
        self,
        bonus: Bonus,
        setting: Setting,
        normalise: str = "std",
        normalise_at: NormaliseAt = "combined",
        coefficient: float = 1.0,
        updates: int = 1,
    ) -> None:
        """`updates` is how often the models learn from each fragment."""
        if normalise_at not in ("combined", "terms"):
            raise unknown("place to normalise", normalise_at, ["combined", "terms"])
        if not np.isfinite(coefficient):
            raise InvalidInput(f"the intrinsic coefficient must be finite, not {coefficient}")
        self.bonus = bonus
        self.setting = setting
        self.coefficient = coefficient
        self._updates = updates
        self._normalise = normalise
        self._normalise_at = normalise_at
        self._terms = Terms(bonus, setting)
        parts = [*self._terms.labels.values(), *([_COMBINED] if normalise_at == "combined" else [])]
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
        labels = self._terms.labels
        if learn:
            self._take_in({labels[term]: value for term, value in raw.items()} | {_COMBINED: combined}, fragment)
        metrics: Metrics = {}
        for term, value in raw.items():
            mean, sigma = float(value.mean()), self._normalisers[labels[term]].sigma
            metrics |= {
                f"term/{labels[term]}/raw_mean": mean,
                f"term/{labels[term]}/sigma": sigma,
                f"term/{labels[term]}/normalised_mean": mean / sigma,
            }
        if self._normalise_at == "terms":
            normalised = combine(self.bonus, {term: self._divide(labels[term], value) for term, value in raw.items()})
        else:
            normalised = self._divide(_COMBINED, combined)
            metrics["bonus/sigma"] = self._normalisers[_COMBINED].sigma
        batch = IntrinsicBatch(
            bonus=_column("bonus", self.coefficient * normalised),
            bonus_raw=bonus_raw,
            bonus_episodic=_column("bonus_episodic", self._part(self._episodic, raw, combined)),
            bonus_global=_column("bonus_global", self._part(self._global, raw, combined)),
            metrics=metrics,
        )
        metrics |= {f"{name}/mean": float(values.mean()) for name, values in batch.columns().items()}
        metrics["bonus/max"] = float(batch.bonus.max())
        for update in range(self._updates if learn else 0):
            if update:
                self.setting.again()
            metrics |= {f"learn/{key}": value for key, value in self._terms.learn(fragment).items()}
        return batch

    @property
    def warms_up(self) -> bool:
        """Whether `warm_up` would change anything."""
        return any(type(source).warm_up is not Source.warm_up for source in self.setting.sources.values())

    def warm_up(self, fragment: Fragment) -> None:
        """Take in what a random policy saw: it moves observation statistics alone, no network, memory or count."""
        for source in self.setting.sources.values():
            source.warm_up(fragment)

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

    def _take_in(self, values: dict[str, torch.Tensor], fragment: Fragment) -> None:
        """Show each normaliser its part's values, [T, N], of all replicas: one exchange for all parts."""
        prepared = tuple(
            normaliser.prepare(values[part].numpy(), fragment.env_index)
            for part, normaliser in self._normalisers.items()
        )
        gathered = self.setting.replicas.gather(prepared)  # replica by part
        for normaliser, *everyones in zip(self._normalisers.values(), *gathered, strict=True):
            normaliser.update(*everyones)

    def _divide(self, part: str, values: torch.Tensor) -> torch.Tensor:
        sigma = torch.tensor(self._normalisers[part].sigma, dtype=torch.float64)
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

"""The intrinsic reward of a fragment: builds, normalises, scales, trains and saves an expression."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch.utils._pytree import tree_map_only

from bonuslab.algorithms.bonuses.algebra.base import Bonus, Metrics
from bonuslab.algorithms.bonuses.algebra.combinators import combine, restrict
from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.algebra.terms import Terms
from bonuslab.algorithms.bonuses.memory.blas_threads import one_blas_thread
from bonuslab.algorithms.bonuses.models.shared_model import SharedModel
from bonuslab.algorithms.bonuses.reward.normalise import make_normaliser
from bonuslab.algorithms.data.finite import require_finite
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.envs.errors import InvalidInput, unknown

NormaliseAt = Literal["combined", "terms"]
_COMBINED = "combined bonus"
"""Key of the whole expression among the normalisers; the space keeps it apart from term names."""


@dataclass(frozen=True)
class IntrinsicBatch:
    """The intrinsic reward of one fragment and its parts, [T, N] float32 each."""

    bonus: np.ndarray
    """coefficient × the normalised expression, to be added to the extrinsic reward."""
    bonus_raw: np.ndarray
    """The expression before normalisation and coefficient."""
    bonus_episodic: np.ndarray
    """The raw expression restricted to its episodic terms (see `combinators.restrict`); zeros if it has none."""
    bonus_global: np.ndarray
    """The raw expression restricted to its global terms; zeros if it has none."""
    metrics: Metrics

    def columns(self) -> dict[str, np.ndarray]:
        """The arrays by name."""
        return {name: values for name, values in vars(self).items() if name != "metrics"}


class IntrinsicModel:
    """Turns fragments into intrinsic rewards with one bonus expression.

    `normalise` is `std`, `reference`, `return` or `none`; `normalise_at` selects what is divided by its σ: the
    `combined` bonus, as in the paper, or each of its `terms` before they are combined. σ includes the fragment itself.

    Both cases report the same metrics per term: `raw_mean`, `sigma` of that term alone, and their ratio
    `normalised_mean`. σ of the combined bonus says little about a term: for a product it has the unit of all factors.
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
        """`updates` is the number of gradient steps per fragment."""
        if normalise_at not in ("combined", "terms"):
            raise unknown("normalise_at", normalise_at, ["combined", "terms"])
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
        """The intrinsic reward of the fragment; then the models train on it.

        Call it once per fragment, in order: episodic memory and counts advance. With `learn=False` networks and
        normalisers stay unchanged.
        """
        batch = self.evaluate(fragment, update_sigma=learn)
        if learn:
            batch.metrics.update(self.train(fragment))
        return batch

    def evaluate(self, fragment: Fragment, update_sigma: bool = True) -> IntrinsicBatch:
        """The first half of `process`: the intrinsic reward, after σ has taken in the fragment."""
        with one_blas_thread():
            raw = self._terms.compute(fragment)
        combined = combine(self.bonus, raw)
        bonus_raw = _column("bonus_raw", combined)  # before the normaliser sees it
        labels = self._terms.labels
        if update_sigma:
            values = {labels[term]: value for term, value in raw.items()}
            self._update_normalisers(values | {_COMBINED: combined}, fragment)
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
        return batch

    def train(self, fragment: Fragment) -> Metrics:
        """The second half of `process`: train the models on the fragment and return their losses."""
        metrics: Metrics = {}
        for update in range(self._updates):
            if update:
                self.setting.again()
            metrics |= {f"learn/{key}": value for key, value in self._terms.learn(fragment).items()}
        return metrics

    @property
    def warms_up(self) -> bool:
        """Whether `warm_up` has any effect."""
        return any(type(model).warm_up is not SharedModel.warm_up for model in self.setting.models.values())

    def warm_up(self, fragment: Fragment) -> None:
        """Update observation statistics on a random policy's fragment; networks, memory and counts stay unchanged."""
        for model in self.setting.models.values():
            model.warm_up(fragment)

    def state_dict(self) -> dict[str, Any]:
        """A deep copy of everything learnt and remembered, on the CPU: the driver that receives it may have no GPU."""
        state = {
            **self._identity(),
            "models": self.setting.state_dict(),
            "terms": self._terms.state_dict(),
            "normalisers": {part: normaliser.state_dict() for part, normaliser in self._normalisers.items()},
        }
        return tree_map_only(torch.Tensor, torch.Tensor.cpu, copy.deepcopy(state))

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`; rejects the state of another bonus, network or normalisation."""
        for what, ours in self._identity().items():
            if what not in state:
                raise InvalidInput(f"not the state of an intrinsic model: {what} is missing")
            if state[what] != ours:
                raise InvalidInput(f"the state was saved with {what} {state[what]!r}; this model has {ours!r}")
        own = copy.deepcopy(state)
        self.setting.load_state_dict(own["models"])
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

    def _update_normalisers(self, values: dict[str, torch.Tensor], fragment: Fragment) -> None:
        """Update each normaliser with its values [T, N] from all replicas, gathered at once."""
        if self._normalise == "none":
            return
        prepared = tuple(
            normaliser.prepare(values[part].numpy(), fragment.env_index)
            for part, normaliser in self._normalisers.items()
        )
        gathered = self.setting.collectives.gather(prepared)  # [replica][part]
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
        raise InvalidInput(f"the reward clip must be positive or None, not {clip}")
    return np.clip(total, -clip, clip)


def _column(name: str, values: torch.Tensor) -> np.ndarray:
    return require_finite(name, values.to(torch.float32)).numpy()

"""Dividing the bonus by a running standard deviation: the textbook's, and the released code's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bonuslab.envs.errors import unknown

_SMALLEST_RELATIVE_SIGMA = 1e-12
"""Below this share of the mean, σ is nothing but rounding."""


class Normaliser:
    """σ = 1: the bonus is left as it is (`normalise: none`)."""

    def update(self, values: np.ndarray) -> None:
        """Take in one fragment's bonuses, [T, N]."""

    @property
    def sigma(self) -> float:
        """What to divide by."""
        return 1.0

    def state_dict(self) -> dict[str, Any]:
        """What has been taken in so far."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`."""


class RunningStd(Normaliser):
    """σ of all bonuses so far, exactly as if they were kept (`normalise: std`).

    Parallel Welford (Chan et al. 1979): with n, μ, M₂ = Σ(x − μ)² of the past and m, ν, Q of the new values,

        δ = ν − μ,   μ ← μ + δ·m/(n + m),   M₂ ← M₂ + Q + δ²·n·m/(n + m),   σ² = M₂/n.

    Where all values so far are equal (nothing seen yet, or an episodic indicator that is always 1), σ is 0 and there
    is no scale to speak of: `sigma` is then 1.
    """

    def __init__(self) -> None:
        self.count = 0
        self.mean = 0.0
        self.sum_of_squares = 0.0

    def update(self, values: np.ndarray) -> None:
        """Merge the moments of one fragment's bonuses."""
        self._merge(np.asarray(values, np.float64), values.size)

    @property
    def sigma(self) -> float:
        """σ, or 1 while it is 0."""
        if not self.count:
            return 1.0
        sigma = math.sqrt(self.sum_of_squares / self.count)
        return 1.0 if sigma <= _SMALLEST_RELATIVE_SIGMA * abs(self.mean) else sigma

    def state_dict(self) -> dict[str, Any]:
        """n, μ and M₂."""
        return {"count": self.count, "mean": self.mean, "sum_of_squares": self.sum_of_squares}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`."""
        self.count = int(state["count"])
        self.mean = float(state["mean"])
        self.sum_of_squares = float(state["sum_of_squares"])

    def _merge(self, values: np.ndarray, count: int) -> None:
        if not count:
            return
        mean = float(values.sum()) / count
        squares = float(np.square(values - mean).sum())
        total = self.count + count
        delta = mean - self.mean
        self.mean += delta * count / total
        self.sum_of_squares += squares + delta * delta * self.count * count / total
        self.count = total


class ReferenceStd(RunningStd):
    """The "σ" as the released code computes it (`normalise: reference`): sums over T × B values, a count of T.

    A batch x of T steps of B unrolls, with mean μ and variance σ², enters the update above with

        m = T,   ν = Σx / T = B·μ,   Q = Σ(x − ν)² = T·B·(σ² + (B − 1)²·μ²),

    so that M₂/n settles at B·(σ² + (B − 1)²·μ²): 8·(σ² + 49·μ²) for the paper's B = 8. Bonuses are mostly positive
    with μ near σ, hence divided by some twenty times their true σ. B is the number of lanes of the fragment.
    """

    def update(self, values: np.ndarray) -> None:
        """Merge one batch, [T, B], counted as T values."""
        self._merge(np.asarray(values, np.float64), len(values))


_KINDS: dict[str, type[Normaliser]] = {"std": RunningStd, "reference": ReferenceStd, "none": Normaliser}


def make_normaliser(kind: str) -> Normaliser:
    """A fresh normaliser: `std`, `reference` or `none`."""
    if kind not in _KINDS:
        raise unknown("normalisation", kind, _KINDS)
    return _KINDS[kind]()

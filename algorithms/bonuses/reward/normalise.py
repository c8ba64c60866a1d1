"""Normalise the bonus by a running standard deviation: the textbook's, or the released code's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bonuslab.envs.errors import unknown

_SMALLEST_RELATIVE_SIGMA = 1e-12
"""Relative to the mean; a smaller σ is rounding error."""


class Normaliser:
    """No normalisation, σ = 1 (`normalise: none`)."""

    def prepare(self, values: np.ndarray, env_index: np.ndarray) -> np.ndarray:
        """The input of `update` for one fragment's bonuses [T, N] of these envs; gathered from all replicas."""
        return values

    def update(self, *values: np.ndarray) -> None:
        """Update σ with the bonuses [T, N] of one fragment, or of one per replica."""

    @property
    def sigma(self) -> float:
        """The divisor."""
        return 1.0

    def state_dict(self) -> dict[str, Any]:
        """The statistics so far."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`."""


class RunningStd(Normaliser):
    """The exact σ of all bonuses so far (`normalise: std`).

    Parallel Welford (Chan et al. 1979): with n, μ, M₂ = Σ(x − μ)² of the past and m, ν, Q of the new values,

        δ = ν − μ,   μ ← μ + δ·m/(n + m),   M₂ ← M₂ + Q + δ²·n·m/(n + m),   σ² = M₂/n.

    While all values are equal (none yet, or an episodic indicator that is always 1), σ is 0 and `sigma` is 1.
    """

    def __init__(self) -> None:
        self.count: float = 0
        self.mean = 0.0
        self.sum_of_squares = 0.0

    def update(self, *values: np.ndarray) -> None:
        """Merge the moments of bonuses."""
        joined = _joined(values)
        self._merge(joined, len(joined))

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
        self.count = state["count"]
        self.mean = float(state["mean"])
        self.sum_of_squares = float(state["sum_of_squares"])

    def _merge(self, values: np.ndarray, count: float) -> None:
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
    """σ as the released code computes it (`normalise: reference`): sums over T × B values, a count of T.

    A batch x of T steps of B = 8 unrolls, with mean μ and variance σ², enters the update above with

        m = T,   ν = Σx / T = B·μ,   Q = Σ(x − ν)² = T·B·(σ² + (B − 1)²·μ²),

    so M₂/n converges to 8·(σ² + 49·μ²). Bonuses are mostly positive with μ near σ, hence divided by about twenty times
    their true σ. B is the released program's, whatever the number of envs: eight envs at a time make one such batch.
    """

    BATCH = 8

    def update(self, *values: np.ndarray) -> None:
        """Merge the bonuses of every eight envs as one batch; fewer are a part of one."""
        unrolls = [column for batch in values for column in np.asarray(batch, np.float64).T]
        for start in range(0, len(unrolls), self.BATCH):
            joined = np.concatenate(unrolls[start : start + self.BATCH])
            self._merge(joined, len(joined) / self.BATCH)


class ReturnStd(RunningStd):
    """σ of the discounted sums of bonuses R_t = γ R_{t−1} + b_t of each env (`normalise: return`; Burda et al., 2019).

    The sums continue across fragments and episode ends, as intrinsic returns do there. γ is 0.99, the intrinsic
    discount of the paper's Montezuma table.
    """

    DISCOUNT = 0.99

    def __init__(self) -> None:
        super().__init__()
        self._sums: dict[int, float] = {}  # by env index

    def prepare(self, values: np.ndarray, env_index: np.ndarray) -> np.ndarray:
        """[T, N]: the discounted sums after each step."""
        running = np.array([self._sums.get(int(n), 0.0) for n in env_index])
        sums = np.empty(values.shape)
        for t, row in enumerate(values):
            running = sums[t] = self.DISCOUNT * running + row
        self._sums |= dict(zip(env_index.tolist(), running.tolist(), strict=True))
        return sums

    def state_dict(self) -> dict[str, Any]:
        """n, μ, M₂ and the sum of every env."""
        return super().state_dict() | {"sums": dict(self._sums)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`."""
        super().load_state_dict(state)
        self._sums = dict(state["sums"])


def _joined(values: tuple[np.ndarray, ...]) -> np.ndarray:
    return np.concatenate([np.asarray(batch, np.float64).ravel() for batch in values])


_KINDS: dict[str, type[Normaliser]] = {
    "std": RunningStd,
    "reference": ReferenceStd,
    "return": ReturnStd,
    "none": Normaliser,
}


def make_normaliser(kind: str) -> Normaliser:
    """A fresh normaliser: `std`, `reference`, `return` or `none`."""
    if kind not in _KINDS:
        raise unknown("normalisation", kind, _KINDS)
    return _KINDS[kind]()

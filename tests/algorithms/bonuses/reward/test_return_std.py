"""The standard deviation of discounted sums against the definition (RND; Burda et al., 2019)."""

from __future__ import annotations

import numpy as np
import pytest

from bonuslab.algorithms.bonuses.reward.normalise import ReturnStd

GAMMA = 0.99


def literal(bonus: np.ndarray) -> np.ndarray:
    """[T, N]: R_t = Σ_k γ^k b_{t−k}, over all bonuses of an env."""
    return np.array([[sum(GAMMA**k * bonus[t - k, n] for k in range(t + 1)) for n in range(2)] for t in range(30)])


@pytest.mark.parametrize("lengths", [(30,), (7, 12, 11)])
def test_equals_the_definition_for_any_fragment_lengths(lengths: tuple[int, ...]) -> None:
    bonus = np.random.default_rng(0).exponential(size=(30, 2))
    made, start = ReturnStd(), 0
    for length in lengths:
        made.update(made.prepare(bonus[start : start + length], np.array([5, 9])))
        start += length
    assert made.count == 60
    assert made.sigma == pytest.approx(literal(bonus).std(), rel=1e-12)


def test_env_order_may_change_and_state_round_trips() -> None:
    bonus = np.random.default_rng(1).exponential(size=(30, 2))
    made = ReturnStd()
    made.update(made.prepare(bonus[:10], np.array([0, 1])))
    restored = ReturnStd()
    restored.load_state_dict(made.state_dict())
    restored.update(restored.prepare(bonus[10:, ::-1], np.array([1, 0])))
    assert restored.sigma == pytest.approx(literal(bonus).std(), rel=1e-12)

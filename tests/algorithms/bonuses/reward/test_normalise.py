"""Running standard deviations against all values, and against the released formula."""

from __future__ import annotations

import numpy as np
import pytest

from bonuslab.algorithms.bonuses.reward.normalise import make_normaliser
from bonuslab.envs.errors import InvalidInput


def batches(seed: int, offset: float = 0.0, scale: float = 1.0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [offset + scale * rng.exponential(size=(T, 8)) for T in (80, 1, 7, 80, 33)]


@pytest.mark.parametrize(("offset", "scale"), [(0, 1), (1e9, 1), (-3, 1e-6), (0, 1e-12), (0, 1e12)])
def test_std_equals_numpy(offset, scale):
    running, kept = make_normaliser("std"), []
    for batch in batches(0, offset, scale):
        running.update(batch)
        kept.append(batch.ravel())
        # Rounding limits the precision of deviations from a large offset.
        precision = 1e-12 + 4e-16 * abs(offset) / scale
        assert running.sigma == pytest.approx(np.concatenate(kept).std(), rel=precision)


def test_std_does_not_depend_on_batching():
    values = np.random.default_rng(1).normal(5, 2, size=(60, 4))
    whole, parts = make_normaliser("std"), make_normaliser("std")
    whole.update(values)
    for part in np.split(values, [1, 10, 59]):
        parts.update(part)
    assert parts.sigma == pytest.approx(whole.sigma, rel=1e-14)


def test_reference_equals_the_released_formula():
    count, mean, m2 = 0, 0.0, 0.0
    running = make_normaliser("reference")
    for x in batches(2, offset=0.5):
        running.update(x)
        T = len(x)
        batch_mean = sum(x[t, b] for t in range(T) for b in range(8)) / T
        batch_m2 = sum((x[t, b] - batch_mean) ** 2 for t in range(T) for b in range(8))
        delta = batch_mean - mean
        m2 = m2 + batch_m2 + delta**2 * count * T / (count + T)
        mean = mean + delta * T / (count + T)
        count = count + T
        assert running.sigma == pytest.approx(np.sqrt(m2 / count), rel=1e-12)


def test_reference_converges_to_the_analytic_value():
    rng = np.random.default_rng(3)
    running = make_normaliser("reference")
    for _ in range(300):
        running.update(rng.normal(0.7, 0.3, size=(80, 8)))
    assert running.sigma == pytest.approx(np.sqrt(8 * (0.3**2 + 49 * 0.7**2)), rel=0.01)
    one = make_normaliser("reference")
    x = rng.normal(0.7, 0.3, size=(80, 8))
    one.update(x)
    assert one.sigma == pytest.approx(np.sqrt(8 * (x.var() + 49 * x.mean() ** 2)), rel=1e-12)


@pytest.mark.parametrize("envs", [1, 4, 16, 20, 64])
def test_reference_has_the_released_batch_size_whatever_the_number_of_envs(envs):
    x = np.random.default_rng(4).normal(0.7, 0.3, size=(4000, envs))
    running = make_normaliser("reference")
    running.update(x)
    assert running.sigma == pytest.approx(np.sqrt(8 * (0.3**2 + 49 * 0.7**2)), rel=0.02)


def test_reference_of_sixteen_envs_is_two_batches_of_eight():
    x = np.random.default_rng(5).normal(0.7, 0.3, size=(10, 16))
    together, apart, replicas = (make_normaliser("reference") for _ in range(3))
    together.update(x)
    apart.update(x[:, :8])
    apart.update(x[:, 8:])
    replicas.update(x[:, :4], x[:, 4:10], x[:, 10:])
    assert together.sigma == apart.sigma == replicas.sigma


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 1e9])
def test_equal_values_are_not_divided(value):
    running = make_normaliser("std")
    assert running.sigma == 1
    for _ in range(3):
        running.update(np.full((5, 2), value))
    assert running.sigma == 1


def test_an_empty_batch_changes_nothing():
    running = make_normaliser("std")
    running.update(np.zeros((0, 4)))
    assert running.state_dict()["count"] == 0


@pytest.mark.parametrize("kind", ["std", "reference", "none"])
def test_state_round_trip(kind):
    first, second = make_normaliser(kind), make_normaliser(kind)
    data = batches(5)
    for batch in data[:3]:
        first.update(batch)
    second.load_state_dict(first.state_dict())
    for batch in data[3:]:
        first.update(batch)
        second.update(batch)
    assert first.sigma == second.sigma
    assert first.state_dict() == second.state_dict()


def test_none_and_unknown_kinds():
    assert make_normaliser("none").sigma == 1
    with pytest.raises(InvalidInput, match="did you mean std"):
        make_normaliser("sdt")

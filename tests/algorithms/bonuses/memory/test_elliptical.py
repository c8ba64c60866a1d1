"""The elliptical bonus equals the explicit inverse for any fragments, batches, scales and lengths."""

from __future__ import annotations

import copy
import pickle
from itertools import pairwise

import mpmath
import numpy as np
import pytest
import torch

from bonuslab.algorithms.bonuses.memory.covariance_root import CovarianceRoot, innovations
from bonuslab.algorithms.bonuses.memory.elliptical import EllipticalMemory, EpisodicElliptical
from bonuslab.algorithms.data.finite import NonFinite
from bonuslab.algorithms.data.segments import segments
from bonuslab.algorithms.data.synthetic import Trajectory

RIDGE = 0.1


def literal(features: np.ndarray, ridge: float = RIDGE) -> np.ndarray:
    """The paper's equation with an explicit inverse at every step of one episode [t, d]."""
    covariance = ridge * np.eye(features.shape[1])
    bonus = []
    for phi in features:
        bonus.append(phi @ np.linalg.inv(covariance) @ phi)
        covariance += np.outer(phi, phi)
    return np.array(bonus)


def precise(features: np.ndarray) -> np.ndarray:
    """The same with ridge 1 by Sherman–Morrison in 80 digits."""
    with mpmath.workdps(80):
        inverse = mpmath.eye(features.shape[1])
        bonus = []
        for row in features:
            phi = mpmath.matrix(row.tolist())
            gain = inverse * phi
            bonus.append((phi.T * gain)[0])
            inverse -= gain * gain.T / (1 + bonus[-1])
        return np.array([float(value) for value in bonus])


def in_blocks(features: np.ndarray, length: int) -> np.ndarray:
    """Bonuses with ridge 1 of one episode in blocks of `length`."""
    memory, bonus = EllipticalMemory(), []
    for start in range(0, len(features), length):
        block, memory = memory.extend(features[start : start + length])
        bonus.append(block)
    return np.concatenate(bonus)


def literal_trajectory(trajectory: Trajectory, features: np.ndarray, pay_first: bool) -> np.ndarray:
    """`literal` for every episode of every environment of [T, N, d]."""
    T, N, _ = features.shape
    bonus = np.zeros((T, N))
    for n in range(N):
        starts = [*np.flatnonzero(trajectory.first[:T, n]), T]
        for start, stop in pairwise(starts):
            bonus[start:stop, n] = literal(features[start:stop, n])
            if not pay_first:
                bonus[start, n] = 0
    return bonus


def run(trajectory: Trajectory, features: torch.Tensor, lengths: list[int], pay_first: bool = False) -> np.ndarray:
    elliptical = EpisodicElliptical(RIDGE)
    start, parts = 0, []
    for fragment in trajectory.cut(lengths):
        stop = start + fragment.num_steps
        parts.append(elliptical.compute(fragment, features[start:stop], pay_first))
        start = stop
    return torch.cat(parts).numpy()


@pytest.mark.parametrize("pay_first", [False, True])
@pytest.mark.parametrize("lengths", [[60], [20, 20, 20], [1] * 60, [7, 13, 1, 30, 9]])
def test_equals_the_explicit_inverse_for_any_fragment_lengths(lengths: list[int], pay_first: bool) -> None:
    trajectory = Trajectory(num_envs=3, num_steps=60, seed=1, mean_episode=15)
    features = torch.randn(60, 3, 10, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    expected = literal_trajectory(trajectory, features.numpy(), pay_first)
    np.testing.assert_allclose(run(trajectory, features, lengths, pay_first), expected, rtol=1e-9, atol=1e-12)


def test_fragments_and_batching_do_not_matter_across_the_switch_to_the_root() -> None:
    trajectory = Trajectory(num_envs=4, num_steps=700, seed=2, mean_episode=300)
    features = torch.randn(700, 4, 24, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    whole = run(trajectory, features, [700])
    for lengths in ([100] * 7, [64, 65, 1, 70, 500], [13] * 53 + [11]):
        np.testing.assert_allclose(run(trajectory, features, lengths), whole, rtol=1e-9)
    for n in range(4):
        alone = EpisodicElliptical(RIDGE)
        parts = [
            alone.compute(fragment.select_envs([n]), features[start : start + 100, [n]], False)
            for start, fragment in zip(range(0, 700, 100), trajectory.cut([100] * 7), strict=True)
        ]
        np.testing.assert_allclose(torch.cat(parts).numpy()[:, 0], whole[:, n], rtol=1e-9)


@pytest.mark.parametrize("scale", [0.0, 1e-8, 1.0, 300.0, 1e3, 1e5, 1e8])
def test_is_exact_at_every_scale(scale: float) -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(30, 6))[rng.integers(30, size=300)] * scale  # states repeat
    error = 1e-12 + (1e-13 * scale**2 if scale <= 300 else 1e-14 * scale)  # Gram factor, or root
    expected = precise(features)
    for length in (1, 37, 300):
        np.testing.assert_allclose(in_blocks(features, length), expected, rtol=error)


@pytest.mark.parametrize("scale", [1e8, 1e15, 1e30, 3e38])
def test_is_never_negative_nor_nan(scale: float) -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(400, 16)) * scale
    rows[50:90] = rows[50]  # repeated
    rows[100:120] = 0
    rows[200:300] /= scale  # small ones after huge ones
    rows[300:350] = rows[:50] * (1 + 1e-12)
    for length in (1, 80, 400):
        bonus = in_blocks(rows, length)
        assert np.isfinite(bonus).all()
        assert (bonus >= 0).all()
        assert (bonus[100:120] == 0).all()


def test_five_thousand_steps_of_one_episode() -> None:
    rng = np.random.default_rng(4)
    states = rng.normal(size=(40, 32)).astype(np.float32)
    features = states[rng.integers(40, size=5000)].astype(np.float64) / np.sqrt(RIDGE)
    bonus = in_blocks(features, 80)
    inverse = np.linalg.inv(features[:-1].T @ features[:-1] + np.eye(32))
    assert bonus[-1] == pytest.approx(features[-1] @ inverse @ features[-1], rel=1e-9)
    assert (bonus > 0).all()
    np.testing.assert_allclose(in_blocks(features, 333), bonus, rtol=1e-9)


def test_one_repeated_state_gives_inverse_counts() -> None:
    features = np.zeros((5000, 3))
    features[:, 1] = 1 / np.sqrt(RIDGE)
    np.testing.assert_allclose(in_blocks(features, 80), 1 / (np.arange(5000) + RIDGE), rtol=1e-10)


def test_float32_features_are_used_in_double_precision() -> None:
    trajectory = Trajectory(num_envs=2, num_steps=40, seed=5)
    features = torch.randn(40, 2, 12, generator=torch.Generator().manual_seed(2))
    features[20:] = features[:20]
    bonus = run(trajectory, features, [15, 25])
    assert bonus.dtype == np.float64
    np.testing.assert_allclose(bonus, run(trajectory, features.double(), [40]), rtol=1e-9)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e200])
def test_non_finite_features_are_reported(bad: float) -> None:
    trajectory = Trajectory(num_envs=2, num_steps=10)
    features = torch.ones(10, 2, 4, dtype=torch.float64)
    features[3, 1, 2] = bad
    with pytest.raises(NonFinite, match="elliptical bonus's features is not finite: 1 of"):
        run(trajectory, features, [10])


def test_memory_is_bounded_and_reset_at_the_end_of_the_episode() -> None:
    rng = np.random.default_rng(6)
    memory, sizes = EllipticalMemory(), []
    for _ in range(60):
        _, memory = memory.extend(rng.normal(size=(50, 200)))
        sizes.append(len(pickle.dumps(memory)))
    assert memory.steps == 3000
    assert max(sizes) < 2.1 * 8 * 200**2
    assert sizes[-1] < 1.1 * 8 * 200**2
    assert memory.extend(np.ones((5, 200)), keep=False)[1] == EllipticalMemory()


def test_a_lost_fragment_restarts_the_episode() -> None:
    trajectory = Trajectory(num_envs=1, num_steps=30, mean_episode=10**9)
    features = torch.randn(30, 1, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    fragments = trajectory.cut([10, 10, 10])
    elliptical = EpisodicElliptical(RIDGE)
    elliptical.compute(fragments[0], features[:10], True)
    after_gap = elliptical.compute(fragments[2], features[20:], True).numpy()[:, 0]
    np.testing.assert_allclose(after_gap, literal(features[20:, 0].numpy()), rtol=1e-9)


@pytest.mark.parametrize("size", [6, 200])
def test_state_round_trips_within_episodes(size: int) -> None:
    trajectory = Trajectory(num_envs=3, num_steps=400, seed=7, mean_episode=250)
    features = torch.randn(400, 3, size, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    before, after = trajectory.cut([250, 150])
    original = EpisodicElliptical(RIDGE)
    original.compute(before, features[:250], False)
    saved = original.state_dict()
    frozen = copy.deepcopy(saved)
    expected = original.compute(after, features[250:], False)
    for state in (saved, pickle.loads(pickle.dumps(frozen))):
        restored = EpisodicElliptical(RIDGE)
        restored.load_state_dict(state)
        assert torch.equal(restored.compute(after, features[250:], False), expected)


def test_root_is_the_cholesky_factor_of_the_covariance() -> None:
    rows = np.random.default_rng(8).normal(size=(500, 9))
    bonus, root = CovarianceRoot.identity(9).extend(rows)
    np.testing.assert_allclose(root.upper.T @ root.upper, np.eye(9) + rows.T @ rows, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(bonus, literal(rows, ridge=1.0), rtol=1e-10)
    np.testing.assert_allclose(innovations(np.asfortranarray(rows[:20].T)), bonus[:20], rtol=1e-12)


def test_extending_does_not_modify_the_rows() -> None:
    rows = np.random.default_rng(9).normal(size=(20, 4))
    kept = rows.copy()
    CovarianceRoot.identity(4).add(rows).extend(rows)
    assert (rows == kept).all()


def test_segments_cover_every_step_once_and_split_at_episode_starts() -> None:
    trajectory = Trajectory(num_envs=4, num_steps=50, seed=10, mean_episode=6)
    for fragment in trajectory.cut([20, 30]):
        covered = np.zeros((fragment.num_steps, 4), int)
        for part in segments(fragment):
            covered[part.start : part.stop, part.column] += 1
            assert not fragment.first[part.start + 1 : part.stop, part.column].any()
            assert part.start == 0 or fragment.first[part.start, part.column]
            assert part.last == (part.stop == fragment.num_steps and not fragment.first[part.stop, part.column])
        assert (covered == 1).all()

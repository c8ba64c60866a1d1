"""The global elliptical bonus: the appendix's equation over all experience, its features, and numerical stability."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.elliptical_global import EllipticalGlobal
from bonuslab.algorithms.bonuses.memory.covariance_root import CovarianceRoot
from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE, Trajectory
from bonuslab.envs.errors import InvalidInput


def setting(seed: int = 0) -> Setting:
    return Setting(OBSERVATION_SPACE, NUM_ACTIONS, network="small", seed=seed)


@pytest.mark.parametrize("features", ["rbf", "random", "inverse"])
def test_equals_the_equation_in_order_of_time_then_env(features: str) -> None:
    bonus = EllipticalGlobal(features=features, ridge=0.5).build(setting())  # type: ignore[arg-type]
    covariance = None
    for fragment in Trajectory(num_envs=3, num_steps=40, seed=1).cut([15, 25]):
        actual = bonus.compute(fragment)
        psi = bonus.model.features(fragment).current.detach().double().numpy()
        if covariance is None:
            covariance = 0.5 * np.eye(psi.shape[-1])
        for t in range(fragment.num_steps):
            for n in range(3):
                expected = psi[t, n] @ np.linalg.solve(covariance, psi[t, n])
                covariance += np.outer(psi[t, n], psi[t, n])
                assert float(actual[t, n]) == pytest.approx(expected, rel=1e-8)
        bonus.learn(fragment)


def test_rbf_features_are_the_kernel_to_the_first_distinct_points() -> None:
    fragment, second = Trajectory(num_envs=2, num_steps=60, seed=2).cut([3, 57])
    bonus = EllipticalGlobal(centres=12, bandwidth=2.0).build(setting())
    centres: list[tuple[int, int]] = []
    for part in (fragment, second):
        positions = part.states()["blstats"][:, :2]
        for point in positions.tolist():
            if tuple(point) not in centres and len(centres) < 12:
                centres.append(tuple(point))
        features = bonus.model.features(part).states
        for position, row in zip(positions, features, strict=True):
            expected = [np.exp(-((position - centre) ** 2).sum() / 8) for centre in centres]
            np.testing.assert_allclose(row[: len(centres)], expected, rtol=1e-12)
            assert (row[len(centres) :] == 0).all()
    assert len(centres) == 12


def test_blstats_kernel_distinguishes_states() -> None:
    fragment = Trajectory(num_envs=2, num_steps=20).cut([20])[0]
    bonus = EllipticalGlobal(points="blstats", bandwidth=0.3).build(setting())
    assert (bonus.compute(fragment) > 0).all()
    assert len(torch.unique(bonus.model.features(fragment).states, dim=0)) > 5


def test_decreases_with_repeated_visits_across_episodes() -> None:
    bonus = EllipticalGlobal(centres=36).build(setting())
    means = [float(bonus.compute(fragment).mean()) for fragment in Trajectory(8, 400, seed=3).cut([100] * 4)]
    assert means == sorted(means, reverse=True)
    assert means[-1] < 0.3 * means[0]
    assert means[-1] > 0


def test_does_not_drift_over_a_million_steps() -> None:
    rng = np.random.default_rng(4)
    states = rng.normal(size=(50, 12)) * np.logspace(-2, 2, 12)  # badly scaled
    root, counts = CovarianceRoot.identity(12), np.zeros(50)
    for _ in range(250):
        chosen = rng.integers(50, size=4000)
        root = root.add(states[chosen])
        counts += np.bincount(chosen, minlength=50)
    assert counts.sum() == 1_000_000
    # The exact covariance from counts, in extended precision.
    wide = states.astype(np.longdouble)
    covariance = (np.eye(12) + wide.T @ (counts[:, None] * wide)).astype(np.float64)
    np.testing.assert_allclose(
        root.upper.T @ root.upper, covariance, rtol=1e-10, atol=1e-10 * np.diag(covariance).max()
    )
    probe = np.eye(12) / np.sqrt(np.diag(covariance))
    expected = [row @ np.linalg.solve(covariance, row) for row in probe]
    np.testing.assert_allclose([root.bonuses(row[None])[0] for row in probe], expected, rtol=1e-7)


def test_unvisited_directions_stay_exact() -> None:
    root = CovarianceRoot.identity(3)
    for _ in range(2000):
        root = root.add(np.tile([1e3, 0.0, 1e3], (100, 1)))
    actual = root.bonuses(np.array([[0.0, 2.0, 0.0]]))[0]
    assert actual == pytest.approx(4.0, rel=1e-12)
    # (1, 0, −1) is orthogonal to all rows: C⁻¹ leaves it unchanged, 2 in 1e14.
    assert root.bonuses(np.array([[1.0, 0.0, -1.0]]))[0] == pytest.approx(2.0, rel=1e-4)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"features": "rbff"}, "did you mean rbf"),
        ({"points": "positions"}, "did you mean position"),
        ({"ridge": -1.0}, "ridge must be positive"),
        ({"features": "random", "centres": 10}, "centres has no effect"),
        ({"learning_rate": 0.1}, "learning_rate has no effect"),
    ],
)
def test_invalid_parameters_are_rejected(parameters: dict, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        EllipticalGlobal(**parameters)


def test_an_environment_without_blstats_is_rejected() -> None:
    space = gym.spaces.Dict({"screen": gym.spaces.Box(0, 255, (84, 84), np.uint8)})
    with pytest.raises(InvalidInput, match="need the observation 'blstats'; this environment has screen"):
        EllipticalGlobal().build(Setting(space, 18))

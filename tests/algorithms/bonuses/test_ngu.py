"""NGU's episodic bonus against Algorithm 1 of its paper, step by step."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import Tensor

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.models.shared_model import SharedModel
from bonuslab.algorithms.bonuses.ngu import NGU, nearest_squared_distances
from bonuslab.algorithms.data.finite import NonFinite
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE, Trajectory
from bonuslab.envs.errors import InvalidInput


class Table(SharedModel):
    """Features [T, N, d] of a whole trajectory, fragment by fragment."""

    def __init__(self, features: Tensor) -> None:
        super().__init__()
        self.rows, self.start = features, 0

    def encode(self, fragment: Fragment) -> Tensor:
        T, N = fragment.action.shape
        rows = self.rows[self.start : self.start + T][:, fragment.env_index]
        self.start += T
        others = rows.new_full((N + len(fragment.final_index), rows.shape[-1]), torch.nan)  # must not be used
        return torch.cat([rows.flatten(0, 1), others])


def built(features: Tensor, **parameters: float) -> NGU:
    bonus = NGU(**parameters).build(Setting(OBSERVATION_SPACE, NUM_ACTIONS, network="small"))  # type: ignore[arg-type]
    bonus.model = Table(features)
    return bonus


def run(trajectory: Trajectory, features: Tensor, lengths: list[int], **parameters: float) -> np.ndarray:
    bonus = built(features, **parameters)
    return torch.cat([bonus.compute(fragment) for fragment in trajectory.cut(lengths)]).numpy()


def literal_episode(features: np.ndarray, k: int = 10, epsilon: float = 1e-4, xi: float = 0.008, c: float = 1e-3,
                    maximum: float = 8.0, capacity: int = 30000) -> list[float]:  # fmt: skip
    """Algorithm 1 for one episode [t, d]; no bonus while the memory is empty."""
    memory: list[np.ndarray] = []
    seen: list[float] = []
    rewards = []
    for x in features:
        nearest = sorted(sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) for y in memory[-capacity:])[:k]
        seen += nearest
        d_m = sum(seen) / len(seen) if seen else 0.0
        normalised = [max((d / d_m if d_m > 0 else 0.0) - xi, 0.0) for d in nearest]
        s = math.sqrt(sum(epsilon / (d + epsilon) for d in normalised)) + c
        rewards.append(0.0 if s > maximum or not nearest else 1 / s)
        memory.append(x)
    return rewards


def literal(trajectory: Trajectory, features: Tensor, **parameters: float) -> np.ndarray:
    T, N, _ = features.shape
    bonus = np.zeros((T, N))
    for n in range(N):
        starts = [*np.flatnonzero(trajectory.first[:T, n]), T]
        for start, stop in pairwise(starts):
            rows = features[start:stop, n].double().numpy()
            bonus[start:stop, n] = literal_episode(rows, **parameters)  # type: ignore[arg-type]
    return bonus


def some_features(steps: int, envs: int, size: int = 3, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    states = torch.randn(15, size, dtype=torch.float64, generator=generator)  # so that states repeat
    return states[torch.randint(15, (steps, envs), generator=generator)]


@pytest.mark.parametrize("lengths", [[80], [40, 40], [1] * 80, [3, 50, 27]])
def test_equals_algorithm_1_for_any_fragment_lengths(lengths: list[int]) -> None:
    trajectory, features = Trajectory(3, 80, seed=1, mean_episode=25), some_features(80, 3)
    np.testing.assert_allclose(run(trajectory, features, lengths), literal(trajectory, features), rtol=1e-9)


def test_every_parameter_is_used() -> None:
    trajectory, features = Trajectory(2, 60, seed=2, mean_episode=40), some_features(60, 2, seed=3)
    usual = run(trajectory, features, [60])
    for ours, theirs in [
        ({"neighbours": 3}, {"k": 3}),
        ({"epsilon": 0.1}, {"epsilon": 0.1}),
        ({"cluster_distance": 0.5}, {"xi": 0.5}),
        ({"pseudo_count": 0.2}, {"c": 0.2}),
        ({"maximum_similarity": 1.2}, {"maximum": 1.2}),
        ({"capacity": 7}, {"capacity": 7}),
    ]:
        actual = run(trajectory, features, [11, 30, 19], **ours)
        np.testing.assert_allclose(actual, literal(trajectory, features, **theirs), rtol=1e-9)
        assert not np.allclose(actual, usual)


def test_long_episode_in_blocks() -> None:
    trajectory = Trajectory(1, 500, mean_episode=10**9)
    features = torch.randn(500, 1, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    np.testing.assert_allclose(run(trajectory, features, [500]), literal(trajectory, features), rtol=1e-9)
    np.testing.assert_allclose(run(trajectory, features, [131, 369]), run(trajectory, features, [500]), rtol=1e-9)


def test_states_far_from_the_origin_keep_their_distances() -> None:
    trajectory, features = Trajectory(2, 60, seed=5), some_features(60, 2)
    shifted = features + 1e6
    np.testing.assert_allclose(run(trajectory, shifted, [60]), run(trajectory, features, [60]), rtol=1e-6)


@pytest.mark.parametrize("scale", [0.0, 1e-20, 1e8, 1e30])
def test_is_never_negative_nor_nan(scale: float) -> None:
    features = (some_features(100, 2) * scale).float()
    features[30:60] = features[30]
    actual = run(Trajectory(2, 100, mean_episode=50), features, [33, 67])
    assert np.isfinite(actual).all()
    assert (actual >= 0).all()


def test_no_bonus_at_the_first_step_and_little_for_repetition() -> None:
    features = torch.ones(20, 1, 3, dtype=torch.float64)
    features[:10, 0, 0] = torch.arange(10)
    actual = run(Trajectory(1, 20, mean_episode=10**9), features, [20])[:, 0]
    assert actual[0] == 0
    assert actual[1:10].min() > 5 * actual[-1]
    assert actual[-1] == pytest.approx(1 / (math.sqrt(10) + 1e-3))  # ten identical neighbours


def test_non_finite_features_are_reported() -> None:
    features = some_features(10, 2)
    features[4, 1, 0] = torch.inf
    with pytest.raises(NonFinite, match="NGU's features"):
        run(Trajectory(2, 10), features, [10])


def test_missing_neighbours_are_at_infinite_distance() -> None:
    rows = np.array([[0.0], [3.0], [4.0]])
    distances = nearest_squared_distances(rows, new=3, k=4, capacity=100)
    np.testing.assert_array_equal(np.sort(distances), [[np.inf] * 4, [9, *[np.inf] * 3], [1, 16, np.inf, np.inf]])


def test_invalid_parameters_are_rejected() -> None:
    for name in ("neighbours", "epsilon", "pseudo_count", "maximum_similarity", "capacity"):
        with pytest.raises(InvalidInput, match=f"{name} must be positive"):
            NGU(**{name: 0})  # type: ignore[arg-type]

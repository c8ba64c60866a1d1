"""E3B: the paper's equation on fragments, inverse counts for one-hot features, sharing, and its encoders."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.e3b import E3B
from bonuslab.algorithms.bonuses.models.shared_model import SharedModel
from bonuslab.algorithms.bonuses.ngu import NGU
from bonuslab.algorithms.data.fragment import Fragment, concat_envs
from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE, Trajectory
from bonuslab.envs.errors import InvalidInput

GRID = 6


class Positions(SharedModel):
    """The agent's position, one-hot: tabular features."""

    def encode(self, fragment: Fragment) -> Tensor:
        return torch.nn.functional.one_hot(torch.from_numpy(cells(fragment)), GRID * GRID).double()


def cells(fragment: Fragment) -> np.ndarray:
    """[(T + 1) N + F]: grid cell of each state."""
    blstats = fragment.states()["blstats"]
    return (blstats[:, 0] - 30) * GRID + blstats[:, 1] - 5


def setting(seed: int = 0) -> Setting:
    return Setting(OBSERVATION_SPACE, NUM_ACTIONS, network="small", seed=seed)


def tabular(ridge: float, convention: str) -> E3B:
    bonus = E3B(ridge=ridge, encoder="random", convention=convention).build(setting())  # type: ignore[arg-type]
    bonus.model = Positions()
    return bonus


@pytest.mark.parametrize("convention", ["reference", "paper"])
@pytest.mark.parametrize("lengths", [[90], [30, 30, 30], [1, 2, 3, 84]])
def test_one_hot_features_give_ridge_regularised_inverse_counts(lengths: list[int], convention: str) -> None:
    trajectory = Trajectory(num_envs=3, num_steps=90, seed=1, grid=GRID, mean_episode=20)
    bonus = tabular(0.25, convention)
    visits = [dict[int, int]() for _ in range(3)]
    for fragment in trajectory.cut(lengths):
        actual = bonus.compute(fragment)
        where = cells(fragment)[: fragment.action.size].reshape(fragment.action.shape)
        for t, n in np.ndindex(*where.shape):
            if fragment.first[t, n]:
                visits[n] = {}
            before = visits[n].get(where[t, n], 0)  # N_e
            expected = 0.0 if fragment.first[t, n] and convention == "reference" else 1 / (before + 0.25)
            assert actual[t, n] == pytest.approx(expected, rel=1e-12)
            visits[n][where[t, n]] = before + 1


@pytest.mark.parametrize("convention", ["reference", "paper"])
def test_equals_the_papers_equation_with_an_explicit_inverse(convention: str) -> None:
    trajectory = Trajectory(num_envs=2, num_steps=50, seed=2, mean_episode=12)
    bonus = E3B(ridge=0.1, encoder="random", convention=convention).build(setting())  # type: ignore[arg-type]
    covariance: list[Tensor] = [torch.empty(0)] * 2
    for fragment in trajectory.cut([15, 20, 15]):  # episodes start before and end after the middle one
        actual = bonus.compute(fragment)
        phi = bonus.model.features(fragment).current.double()
        for t, n in np.ndindex(*fragment.action.shape):
            if fragment.first[t, n]:
                covariance[n] = 0.1 * torch.eye(phi.shape[-1], dtype=torch.float64)
            expected = float(phi[t, n] @ torch.linalg.inv(covariance[n]) @ phi[t, n])
            if fragment.first[t, n] and convention == "reference":
                expected = 0.0
            covariance[n] += torch.outer(phi[t, n], phi[t, n])
            assert float(actual[t, n]) == pytest.approx(expected, rel=1e-7)


def test_earlier_states_keep_their_features() -> None:
    trajectory = Trajectory(num_envs=1, num_steps=24, seed=3, mean_episode=10**9)
    bonus = E3B(learning_rate=0.01).build(setting())
    first, second = trajectory.cut([12, 12])
    bonus.compute(first)
    seen = bonus.model.features(first).current[:, 0].detach().double()
    bonus.learn(first)
    actual = bonus.compute(second)[0, 0]
    phi = bonus.model.features(second).current[0, 0].detach().double()
    covariance = seen.T @ seen + 0.1 * torch.eye(len(phi), dtype=torch.float64)
    assert float(actual) == pytest.approx(float(phi @ torch.linalg.solve(covariance, phi)), rel=1e-7)


def test_bonus_and_loss_of_all_terms_share_one_forward_pass() -> None:
    fragment = Trajectory(num_envs=2, num_steps=10).cut([10])[0]
    shared = setting()
    e3b, ngu, other = E3B().build(shared), NGU().build(shared), E3B(ridge=1.0).build(shared)
    assert e3b.model is ngu.model is other.model
    assert E3B(learning_rate=1e-3).build(shared).model is not e3b.model
    calls, encoder = [], e3b.model._encoder  # type: ignore[attr-defined]
    encode = encoder.encode
    encoder.encode = lambda states: calls.append(1) or encode(states)
    for bonus in (e3b, ngu, other):
        assert not bonus.compute(fragment).requires_grad
    metrics = [bonus.learn(fragment) for bonus in (e3b, ngu, other)]
    assert len(calls) == 1
    assert metrics[0] == metrics[1] == metrics[2]


def test_batched_envs_equal_single_envs() -> None:
    trajectory = Trajectory(num_envs=4, num_steps=40, seed=4)
    together, alone = tabular(0.1, "paper"), tabular(0.1, "paper")
    for fragment in trajectory.cut([25, 15]):
        whole = together.compute(fragment)
        for n in (2, 0, 3, 1):
            torch.testing.assert_close(alone.compute(fragment.select_envs([n]))[:, 0], whole[:, n], rtol=1e-9, atol=0)


def test_envs_can_be_batched_in_any_order() -> None:
    a, b = Trajectory(2, 30, seed=5), Trajectory(2, 30, seed=6)
    joined, apart = tabular(0.1, "reference"), tabular(0.1, "reference")
    for left, right in zip(a.cut([10, 20]), b.cut([10, 20], first_env=2), strict=True):
        whole = joined.compute(concat_envs([right, left]))
        torch.testing.assert_close(whole[:, 2:], apart.compute(left), rtol=1e-9, atol=0)
        torch.testing.assert_close(whole[:, :2], apart.compute(right), rtol=1e-9, atol=0)


def test_policy_features_are_required_and_used() -> None:
    fragment = Trajectory(num_envs=2, num_steps=8, mean_episode=5).cut([8])[0]
    bonus = E3B(encoder="policy").build(setting())
    assert bonus.needs_policy_features
    assert not E3B().needs_policy_features
    with pytest.raises(InvalidInput, match="needs_policy_features"):
        bonus.compute(fragment)
    fragment.policy_features = np.random.default_rng(0).normal(size=(9, 2, 5)).astype(np.float32)
    bonus.model.forget()
    actual = bonus.compute(fragment)
    assert torch.isfinite(actual).all()
    assert (actual[~torch.from_numpy(fragment.first[:8])] > 0).all()
    assert bonus.learn(fragment) == {}


def test_random_encoder_never_changes() -> None:
    first, second = Trajectory(num_envs=2, num_steps=20).cut([10, 10])
    bonus = E3B(encoder="random").build(setting())
    before = bonus.model.features(first).states.clone()
    bonus.learn(first)
    bonus.compute(second)
    assert torch.equal(bonus.model.features(first).states, before)
    same = E3B(encoder="random").build(setting())
    assert torch.equal(same.model.features(first).states, before)
    assert not torch.equal(E3B(encoder="random").build(setting(seed=1)).model.features(first).states, before)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"ridge": 0.0}, "ridge must be positive"),
        ({"encoder": "invers"}, "did you mean inverse"),
        ({"convention": "papr"}, "did you mean paper"),
        ({"encoder": "random", "learning_rate": 1e-3}, "has no effect"),
    ],
)
def test_invalid_parameters_are_rejected(parameters: dict, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        E3B(**parameters)


def test_text_form() -> None:
    assert str(E3B()) == "e3b"
    assert str(E3B(ridge=1.0, encoder="random")) == "e3b(ridge=1, encoder=random)"

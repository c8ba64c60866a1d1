"""AGAC against its equation, with the adversary run one step and one env at a time."""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from bonuslab.algorithms.bonuses.agac import AGAC
from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE, Trajectory, next_state_at
from bonuslab.algorithms.networks import as_tensors
from bonuslab.envs.errors import InvalidInput


def _setting() -> Setting:
    return Setting(OBSERVATION_SPACE, NUM_ACTIONS, network="small")


def _softmax(logits: Sequence[float]) -> list[float]:
    top = max(logits)
    weights = [math.exp(value - top) for value in logits]
    return [weight / sum(weights) for weight in weights]


@torch.no_grad()
def _literal(bonus: AGAC, fragments: Sequence[Fragment]) -> np.ndarray:
    policy = bonus._adversary._policy
    columns = []
    for n in range(fragments[0].num_envs):
        state, column, seen = policy.initial_state(1), [], Counter()
        for fragment in fragments:
            for t in range(fragment.num_steps):
                place = tuple(fragment.observations["blstats"][t, n, :2])
                if fragment.first[t, n]:
                    state, seen = policy.initial_state(1), Counter([place])
                observation = as_tensors({key: rows[t, n][None] for key, rows in fragment.observations.items()})
                output = policy.act(observation, torch.tensor([False]), state)
                state = output.state
                p = _softmax(fragment.behaviour_logits[t, n].tolist())
                q = _softmax(output.logits[0].tolist())
                value = sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))
                here = seen[place]
                after = tuple(next_state_at(fragment, t, n)["blstats"][:2])
                seen[after] += 1
                if bonus.episodic_coefficient:
                    visits = seen[after] if bonus.convention == "reference" else here
                    value += bonus.episodic_coefficient / math.sqrt(visits)
                column.append(value)
        columns.append(column)
    return np.array(columns).T


def _run(bonus: AGAC, fragments: Sequence[Fragment]) -> np.ndarray:
    return torch.cat([bonus.compute(fragment) for fragment in fragments]).numpy()


def _constant_policy(fragment: Fragment) -> Fragment:
    same = copy.copy(fragment)
    same.behaviour_logits = np.zeros_like(fragment.behaviour_logits)
    same.behaviour_logits[..., 3] = 3.0
    return same


@pytest.mark.parametrize("lengths", [[40], [9, 1, 18, 12]])
@pytest.mark.parametrize(("coefficient", "convention"), [(0.0, "reference"), (0.7, "reference"), (0.7, "paper")])
def test_equals_the_equation(lengths: list[int], coefficient: float, convention: str) -> None:
    fragments = Trajectory(3, 40, seed=1, grid=3).cut(lengths)
    bonus = AGAC(coefficient, "position", convention).build(_setting())  # type: ignore[arg-type]
    expected = _literal(bonus, fragments)
    np.testing.assert_allclose(_run(bonus, fragments), expected, rtol=1e-4, atol=1e-5)


def test_batched_envs_equal_single_envs() -> None:
    fragments = Trajectory(3, 40, seed=2).cut([25, 15])
    together = _run(AGAC().build(_setting()), fragments)
    alone = _run(AGAC().build(_setting()), [fragment.select_envs([1]) for fragment in fragments])
    np.testing.assert_allclose(alone[:, 0], together[:, 1], rtol=1e-4)


def test_recurrent_state_is_carried_and_reset_by_a_lost_fragment() -> None:
    before, middle, after = Trajectory(1, 60, seed=3, mean_episode=10**6).cut([20] * 3)
    carried, fresh, gap = (AGAC().build(_setting()) for _ in range(3))
    carried.compute(before)
    gap.compute(before)
    assert not torch.allclose(carried.compute(middle), fresh.compute(middle), rtol=1e-5)
    assert torch.equal(gap.compute(after), AGAC().build(_setting()).compute(after))


def test_no_bonus_for_perfect_imitation() -> None:
    fragment = Trajectory(2, 20, seed=4).cut([20])[0]
    bonus = AGAC().build(_setting())
    with torch.no_grad():
        policy = bonus._adversary._policy
        rows = {key: part[:20] for key, part in fragment.observations.items()}
        output = policy.unroll(as_tensors(rows), torch.from_numpy(fragment.first[:20]), policy.initial_state(2))
    fragment.behaviour_logits = output.logits.numpy()
    actual = bonus.compute(fragment)
    assert (actual >= 0).all()
    assert actual.max() < 1e-6


def test_actions_of_probability_zero_add_nothing() -> None:
    fragment = Trajectory(2, 20, seed=5).cut([20])[0]
    fragment.behaviour_logits[..., 2] = -np.inf
    bonus = AGAC().build(_setting())
    assert torch.isfinite(bonus.compute(fragment)).all()
    bonus.learn(fragment)
    assert all(torch.isfinite(parameter).all() for parameter in bonus._adversary._policy.parameters())


def test_loss_is_summed_over_time_and_averaged_over_envs() -> None:
    fragment = Trajectory(3, 20, seed=6).cut([20])[0]
    bonus = AGAC().build(_setting())
    actual = bonus.compute(fragment).clone()
    loss = bonus.learn(fragment)["adversary_loss"]
    assert loss == pytest.approx(4e-5 * float(actual.sum(0).mean()), rel=1e-4)
    assert torch.equal(bonus.compute(fragment), actual), "learning must not change the bonus of a fragment"


def test_the_adversary_learns_to_imitate() -> None:
    fragments = [_constant_policy(fragment) for fragment in Trajectory(4, 600, seed=7).cut([20] * 30)]
    bonus = AGAC(learning_rate=3e-3).build(_setting())
    means = []
    for fragment in fragments:
        means.append(float(bonus.compute(fragment).mean()))
        bonus.learn(fragment)
    assert means[-1] < 0.1 * means[0]


def test_terms_with_equal_parameters_share_one_adversary() -> None:
    fragment = Trajectory(2, 20, seed=8).cut([20])[0]
    setting = _setting()
    plain, counted = AGAC().build(setting), AGAC(1.0, "position").build(setting)
    assert plain._adversary is counted._adversary
    assert list(setting.models) == ["adversary(3e-05, 4e-05)"]
    assert (counted.compute(fragment) > plain.compute(fragment)).all()
    assert plain.learn(fragment) == counted.learn(fragment)


def test_scope_and_invalid_coefficients() -> None:
    assert AGAC().scope == "global"
    assert AGAC(0.5).scope == "combined"
    assert str(AGAC(0.5, "position")) == "agac(episodic_coefficient=0.5, feature=position)"
    with pytest.raises(InvalidInput, match="must be 0 or more"):
        AGAC(-1.0)

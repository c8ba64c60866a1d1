"""RIDE against its equation, with either count."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.ride import RIDE
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE, Trajectory, next_state_at, state_at
from bonuslab.algorithms.networks import as_tensors

State = dict[str, np.ndarray]


def _setting() -> Setting:
    return Setting(OBSERVATION_SPACE, NUM_ACTIONS, network="small")


@torch.no_grad()
def _phi(bonus: RIDE, state: State) -> Tensor:
    return bonus._source._networks["encoder"](as_tensors({key: value[None] for key, value in state.items()}))[0]


def _literal(bonus: RIDE, fragments: Sequence[Fragment]) -> np.ndarray:
    rows = []
    seen: list[Counter[tuple[int, int]]] = [Counter() for _ in range(fragments[0].num_envs)]
    for fragment in fragments:
        for t in range(fragment.num_steps):
            row = []
            for n in range(fragment.num_envs):
                now, after = state_at(fragment, t, n), next_state_at(fragment, t, n)
                here, there = tuple(now["blstats"][:2]), tuple(after["blstats"][:2])
                if fragment.first[t, n]:
                    seen[n] = Counter([here])
                visits_here = seen[n][here]
                seen[n][there] += 1
                visits = seen[n][there] if bonus.convention == "reference" else visits_here
                change = (_phi(bonus, after) - _phi(bonus, now)).double()
                row.append(float(change.square().sum().sqrt()) / np.sqrt(visits))
            rows.append(row)
    return np.array(rows)


def _run(bonus: RIDE, fragments: Sequence[Fragment]) -> np.ndarray:
    return torch.cat([bonus.compute(fragment) for fragment in fragments]).numpy()


@pytest.mark.parametrize("convention", ["reference", "paper"])
@pytest.mark.parametrize("lengths", [[40], [9, 1, 18, 12]])
def test_equals_the_equation(convention: str, lengths: list[int]) -> None:
    fragments = Trajectory(2, 40, seed=1, grid=3, mean_episode=10).cut(lengths)
    bonus = RIDE("position", convention).build(_setting())  # type: ignore[arg-type]
    np.testing.assert_allclose(_run(bonus, fragments), _literal(bonus, fragments), rtol=1e-4, atol=1e-6)


def test_envs_together_or_alone_give_the_same() -> None:
    fragments = Trajectory(3, 40, seed=2, grid=3).cut([25, 15])
    together = _run(RIDE("position").build(_setting()), fragments)
    alone = _run(RIDE("position").build(_setting()), [fragment.select_envs([2]) for fragment in fragments])
    np.testing.assert_allclose(alone[:, 0], together[:, 2], rtol=1e-4, atol=1e-6)


def test_an_action_without_effect_pays_nothing() -> None:
    fragment = Trajectory(1, 20, seed=3, mean_episode=10**6).cut([20])[0]
    for rows in fragment.observations.values():
        rows[:] = rows[0]
    assert RIDE().build(_setting()).compute(fragment).max() < 1e-6


def test_state_round_trips_exactly() -> None:
    fragments = Trajectory(2, 80, seed=4, grid=3, mean_episode=30).cut([20] * 4)
    setting, other = _setting(), _setting()
    bonus, restored = (RIDE("position").build(place) for place in (setting, other))
    for fragment in fragments[:2]:
        bonus.compute(fragment)
        bonus.learn(fragment)
    saved, networks = copy.deepcopy(bonus.state_dict()), copy.deepcopy(setting.state_dict())
    restored.load_state_dict(saved)
    other.load_state_dict(networks)
    for fragment in fragments[2:]:
        assert torch.equal(restored.compute(fragment), bonus.compute(fragment))
        assert restored.learn(fragment) == bonus.learn(fragment)
    with pytest.raises(ValueError, match=r"position.*message"):
        RIDE("message").build(_setting()).load_state_dict(saved)

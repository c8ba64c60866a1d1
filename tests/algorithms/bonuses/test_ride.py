"""RIDE against its equation, with either count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.ride import RIDE
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE, State, Trajectory, walk
from bonuslab.algorithms.networks import as_tensors


def _setting() -> Setting:
    return Setting(OBSERVATION_SPACE, NUM_ACTIONS, network="small")


@torch.no_grad()
def _phi(bonus: RIDE, state: State) -> Tensor:
    return bonus._model._networks["encoder"](as_tensors({key: value[None] for key, value in state.items()}))[0]


def _literal(bonus: RIDE, fragments: Sequence[Fragment]) -> np.ndarray:
    values = []
    seen: dict[int, Counter[tuple[int, int]]] = {}
    for n, now, after, first in walk(fragments):
        here, there = tuple(now["blstats"][:2]), tuple(after["blstats"][:2])
        if first:
            seen[n] = Counter([here])
        visits_here = seen[n][here]
        seen[n][there] += 1
        visits = seen[n][there] if bonus.convention == "reference" else visits_here
        change = (_phi(bonus, after) - _phi(bonus, now)).double()
        values.append(float(change.square().sum().sqrt()) / np.sqrt(visits))
    return np.array(values).reshape(-1, fragments[0].num_envs)


def _run(bonus: RIDE, fragments: Sequence[Fragment]) -> np.ndarray:
    return torch.cat([bonus.compute(fragment) for fragment in fragments]).numpy()


@pytest.mark.parametrize("convention", ["reference", "paper"])
@pytest.mark.parametrize("lengths", [[40], [9, 1, 18, 12]])
def test_equals_the_equation(convention: str, lengths: list[int]) -> None:
    fragments = Trajectory(2, 40, seed=1, grid=3, mean_episode=10).cut(lengths)
    bonus = RIDE("position", convention).build(_setting())  # type: ignore[arg-type]
    np.testing.assert_allclose(_run(bonus, fragments), _literal(bonus, fragments), rtol=1e-4, atol=1e-6)


def test_no_bonus_for_actions_without_effect() -> None:
    fragment = Trajectory(1, 20, seed=3, mean_episode=10**6).cut([20])[0]
    for rows in fragment.observations.values():
        rows[:] = rows[0]
    assert RIDE().build(_setting()).compute(fragment).max() < 1e-6

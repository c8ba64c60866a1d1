"""NovelD against its equation, with and without its episodic indicator."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.noveld import NovelD
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE, State, Trajectory, walk
from bonuslab.algorithms.networks import as_tensors
from bonuslab.envs.errors import InvalidInput


def _setting() -> Setting:
    return Setting(OBSERVATION_SPACE, NUM_ACTIONS, network="small")


@torch.no_grad()
def _novelty(bonus: NovelD, state: State) -> float:
    model = bonus._model
    features = model._encoder._encoder(as_tensors({key: value[None] for key, value in state.items()}))
    error = model._predictor(features) - model._target(features)
    return float(error.square().sum().sqrt() if bonus.convention == "reference" else error.square().sum())


def _literal(bonus: NovelD, fragments: Sequence[Fragment]) -> np.ndarray:
    values = []
    seen: dict[int, Counter[tuple[int, int]]] = {}
    for n, now, after, first in walk(fragments):
        if first:
            seen[n] = Counter([tuple(now["blstats"][:2])])
        place = tuple(after["blstats"][:2])
        seen[n][place] += 1
        value = max(_novelty(bonus, after) - bonus.c * _novelty(bonus, now), 0.0)
        values.append(value * (seen[n][place] == 1) if bonus.episodic else value)
    return np.array(values).reshape(-1, fragments[0].num_envs)


def _run(bonus: NovelD, fragments: Sequence[Fragment]) -> np.ndarray:
    return torch.cat([bonus.compute(fragment) for fragment in fragments]).numpy()


@pytest.mark.parametrize("episodic", [False, True])
@pytest.mark.parametrize(("c", "convention"), [(0.1, "reference"), (1.0, "reference"), (0.5, "paper")])
@pytest.mark.parametrize("lengths", [[30], [9, 1, 20]])
def test_equals_the_equation(episodic: bool, c: float, convention: str, lengths: list[int]) -> None:
    fragments = Trajectory(2, 30, seed=1, mean_episode=8, grid=3).cut(lengths)
    bonus = NovelD(c, episodic, "position", convention=convention).build(_setting())  # type: ignore[arg-type]
    expected = _literal(bonus, fragments)
    assert not episodic or (expected == 0).mean() > 0.2
    scale = expected.max()
    np.testing.assert_allclose(_run(bonus, fragments), expected, rtol=1e-3, atol=1e-4 * scale)


def test_scope_depends_on_the_episodic_indicator() -> None:
    assert NovelD().scope == "global"
    assert NovelD(episodic=True).scope == "combined"
    assert str(NovelD(c=0.5, episodic=True)) == "noveld(c=0.5, episodic=true)"
    with pytest.raises(InvalidInput, match="c must be 0 or more"):
        NovelD(c=-1.0)


def test_bonus_only_at_the_boundary_of_known_territory() -> None:
    known = Trajectory(1, 30, seed=2, mean_episode=10**6, grid=2).cut([30])[0]
    known.observations["message"][:] = 0
    known.observations["blstats"][:] = known.observations["blstats"][0, 0]
    known.observations["glyphs"][:] = known.observations["glyphs"][0, 0]
    bonus = NovelD(c=0.5, convention="paper", learning_rate=1e-3).build(_setting())
    for _ in range(100):
        bonus.learn(copy.copy(known))
    journey = copy.deepcopy(known)
    journey.observations["glyphs"][10:20] = np.random.default_rng(0).integers(0, 2000, size=(21, 79))
    actual = bonus.compute(journey)[:, 0]
    boundary = actual[9]  # the step from known to unknown
    assert actual[:9].max() < 1e-2 * boundary
    assert actual[19] == 0  # back from unknown into known
    assert actual[20:].max() < 1e-2 * boundary
    assert (actual[10:19] < boundary).all()  # less for moving beyond it than for crossing it


def test_batched_envs_equal_single_envs() -> None:
    fragments = Trajectory(3, 40, seed=3, grid=3).cut([15, 25])
    together = _run(NovelD(0.1, True, "position").build(_setting()), fragments)
    alone = _run(NovelD(0.1, True, "position").build(_setting()), [part.select_envs([1]) for part in fragments])
    np.testing.assert_allclose(alone[:, 0], together[:, 1], rtol=1e-3, atol=1e-5)

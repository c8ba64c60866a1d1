"""Invariants of every registered bonus: finite values, exact save and restore, no leaks between episodes."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from bonuslab.algorithms.bonuses import PRESETS, Bonus, IntrinsicModel, Setting, parse, registered
from bonuslab.algorithms.bonuses.models.shared_model import Features, SharedModel
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE, Trajectory
from bonuslab.algorithms.learning.state_file import read_state, write_state
from bonuslab.envs.errors import InvalidInput

NAMES = sorted(name for name, bonus in registered().items() if bonus.__module__.startswith("bonuslab."))
VARIANTS = [
    "count.global(message)",
    "count.global(observation, runner)",
    "count.episodic(glyphs, root)",
    "rnd(networks=full)",
    "rnd(convention=paper)",
    "noveld(episodic=true, convention=paper)",
    "agac(episodic_coefficient=0.1)",
    "agac(episodic_coefficient=0.1, convention=paper)",
    "ride(convention=paper)",
    "e3b(encoder=random)",
    "e3b(encoder=policy)",
    "e3b(convention=paper)",
    "elliptical.global(features=inverse)",
    "elliptical.global(features=random)",
]
COMBINED = [
    "e3b * rnd",
    "e3b + 100 * noveld(c=0.1)",
    "ngu * noveld",
    "count.episodic(position) * count.global(position)",
]
ON_THESE_STATES = [name for name in PRESETS if not name.endswith("_montezuma")]  # those: test_frame_bonuses.py
EXACT = {"rtol": 1e-9, "atol": 1e-9}
EPISODIC = [text for text in [*NAMES, *VARIANTS] if parse(text).scope == "episodic"]


def setting(seed: int = 0) -> Setting:
    return Setting(OBSERVATION_SPACE, NUM_ACTIONS, network="small", seed=seed)


def cut(lengths: list[int], num_envs: int = 3, seed: int = 5) -> list[Fragment]:
    """Fragments with policy features, as a runner records them for bonuses that need them."""
    total = sum(lengths)
    features = np.random.default_rng(seed).normal(size=(total + 1, num_envs, 16)).astype(np.float32)
    starts = np.cumsum([0, *lengths])
    fragments = Trajectory(num_envs, total, seed=seed).cut(lengths)
    return [
        replace(fragment, policy_features=features[start : start + fragment.num_steps + 1])
        for fragment, start in zip(fragments, starts[:-1], strict=True)
    ]


def run(bonus: Bonus, fragments: list[Fragment]) -> np.ndarray:
    return np.concatenate([bonus.compute(fragment).detach().double().numpy() for fragment in fragments])


@pytest.mark.parametrize("text", [*NAMES, *VARIANTS, *COMBINED, *ON_THESE_STATES])
def test_values_are_finite_and_state_round_trips_exactly_without_pickle(text, tmp_path):
    fragments = cut([12, 9, 9])
    model = IntrinsicModel(parse(text), setting())
    for fragment in fragments[:2]:
        batch = model.process(fragment)
        for column in batch.columns().values():
            assert column.shape == fragment.action.shape
            assert np.isfinite(column).all()
        assert (batch.bonus_raw >= 0).all()
        assert all(np.isfinite(value) for value in batch.metrics.values())
    restored = IntrinsicModel(parse(text), setting(seed=77))
    write_state(tmp_path, model.state_dict())
    restored.load_state_dict(read_state(tmp_path, require_trust=pytest.fail))
    one, two = model.process(fragments[2]), restored.process(fragments[2])
    for name, column in one.columns().items():
        assert np.array_equal(column, two.columns()[name]), name
    assert one.metrics == two.metrics


@pytest.mark.parametrize("text", [*NAMES, *VARIANTS])
def test_only_the_seed_matters(text):
    fragments = cut([10, 6])
    torch.manual_seed(1)
    first = [IntrinsicModel(parse(text), setting(seed=3))]
    torch.manual_seed(2)
    torch.rand(10)
    first.append(IntrinsicModel(parse(text), setting(seed=3)))
    for fragment in fragments:
        one, two = (model.process(fragment) for model in first)
        assert np.array_equal(one.bonus, two.bonus)


@pytest.fixture
def same_features(monkeypatch):
    """Features in float64 that depend on the state alone: a network's float32 rounding depends on its batch too."""
    frequencies = np.random.default_rng(0).normal(size=(4, 16))

    def features(_model: SharedModel, fragment: Fragment) -> Features:
        states = fragment.states()
        letters = states["message"][:, :2].astype(np.float64) / 50
        where = np.concatenate([states["blstats"][:, :2] - 30.0, letters], axis=1)  # [states, 4]
        waves = np.sin((where[:, :, None] * frequencies).sum(axis=1))
        return Features(torch.from_numpy(waves), torch.from_numpy(fragment.next_state_index()))

    monkeypatch.setattr(SharedModel, "features", features)


@pytest.mark.usefixtures("same_features")
@pytest.mark.parametrize("text", EPISODIC)
def test_fragment_boundaries_do_not_matter(text):
    whole = run(parse(text).build(setting()), cut([40]))
    assert whole.std() > 0
    for lengths in ([1] * 40, [13, 27], [39, 1]):
        np.testing.assert_allclose(run(parse(text).build(setting()), cut(lengths)), whole, **EXACT)


@pytest.mark.parametrize("text", EPISODIC)
def test_fragment_boundaries_change_only_the_rounding_of_networks(text):
    whole = run(parse(text).build(setting()), cut([40]))
    parts = run(parse(text).build(setting()), cut([1, 26, 13]))
    np.testing.assert_allclose(parts, whole, rtol=2e-3, atol=2e-5)


@pytest.mark.usefixtures("same_features")
@pytest.mark.parametrize("text", EPISODIC)
def test_batched_envs_equal_single_envs(text):
    fragments = cut([15, 25])
    together = run(parse(text).build(setting()), fragments)
    for n in range(3):
        alone = run(parse(text).build(setting()), [fragment.select_envs([n]) for fragment in fragments])
        np.testing.assert_allclose(alone[:, 0], together[:, n], **EXACT)
    permuted = run(parse(text).build(setting()), [fragments[0], fragments[1].select_envs([2, 0, 1])])
    np.testing.assert_allclose(permuted[15:], together[15:, [2, 0, 1]], **EXACT)


@pytest.mark.usefixtures("same_features")
@pytest.mark.parametrize("text", EPISODIC)
def test_episodes_are_independent(text):
    """Each episode equals one computed as the first of its env."""
    (fragment,) = cut([40])
    whole = run(parse(text).build(setting()), [fragment])
    starts = np.flatnonzero(fragment.first[:-1, 0])
    assert len(starts) > 2
    for start in starts:
        bonus = parse(text).build(setting())
        late = _from(fragment.select_envs([0]), int(start))
        np.testing.assert_allclose(run(bonus, [late])[:, 0], whole[start:, 0], **EXACT)


@pytest.mark.usefixtures("same_features")
@pytest.mark.parametrize("text", EPISODIC)
def test_a_lost_fragment_resets_memory(text):
    fragments = cut([14, 13, 13])
    with_gap = parse(text).build(setting())
    run(with_gap, [fragments[0]])
    fresh = run(parse(text).build(setting()), [fragments[2]])
    np.testing.assert_allclose(run(with_gap, [fragments[2]]), fresh, **EXACT)


@pytest.mark.parametrize("text", [*NAMES, *VARIANTS])
def test_the_state_of_another_bonus_is_rejected(text):
    other = "none" if text != "none" else "e3b"
    state = IntrinsicModel(parse(other), setting()).state_dict()
    with pytest.raises(ValueError, match="saved with bonus"):
        IntrinsicModel(parse(text), setting()).load_state_dict(state)


@pytest.mark.parametrize(
    ("saved", "other"),
    [
        ("count.global(feature=message)", "count.global"),
        ("count.episodic(feature=message)", "count.episodic"),
        ("e3b(ridge=0.2)", "e3b"),
        ("elliptical.global(centres=20)", "elliptical.global"),
        ("ngu(neighbours=5)", "ngu"),
        ("noveld(episodic=true)", "noveld"),
        ("agac(episodic_coefficient=1)", "agac"),
        ("ride(feature=message)", "ride"),
        ("adaptive(window=5)", "adaptive"),
    ],
)
def test_the_state_of_other_parameters_is_rejected(saved, other):
    state = parse(saved).build(setting()).state_dict()
    with pytest.raises(InvalidInput, match=f"saved state is of '{re.escape(saved)}', this bonus is '{other}'"):
        parse(other).build(setting()).load_state_dict(state)


def _from(fragment: Fragment, start: int) -> Fragment:
    kept = fragment.final_index[:, 0] >= start
    time_major = ("action", "behaviour_logits", "reward", "first", "terminated", "truncated", "episode", "context")
    return replace(
        fragment,
        observations={key: rows[start:] for key, rows in fragment.observations.items()},
        finals={key: rows[kept] for key, rows in fragment.finals.items()},
        final_index=fragment.final_index[kept] - np.array([start, 0]),
        policy_features=None if fragment.policy_features is None else fragment.policy_features[start:],
        **{name: getattr(fragment, name)[start:] for name in time_major},
    )

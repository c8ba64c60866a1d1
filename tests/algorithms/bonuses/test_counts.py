"""Count bonuses against dictionaries, across episode ends and fragment boundaries."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Sequence

import gymnasium as gym
import numpy as np
import pytest
import torch

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.counts import EpisodicCount, GlobalCount
from bonuslab.algorithms.bonuses.features.state_features import feature_of, fragment_keys, state_feature
from bonuslab.algorithms.bonuses.memory.hashing import pair_keys
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE, State, Trajectory, walk
from bonuslab.envs.errors import InvalidInput

FEATURES = ["position", "message", "glyphs", "observation"]
CUTS = [[60], [20, 20, 20], [7, 1, 30, 2, 20]]


def _setting() -> Setting:
    return Setting(OBSERVATION_SPACE, NUM_ACTIONS, network="small")


def _literal_feature(name: str, state: State) -> object:
    if name == "position":
        return tuple(state["blstats"][:2].tolist())
    if name == "message":
        return bytes(state["message"]).split(b"\0")[0].rstrip(b" ")
    if name == "glyphs":
        return state["glyphs"].tobytes()
    return tuple((key, state[key].tobytes()) for key in sorted(state))


def _literal_global(fragments: Sequence[Fragment], name: str, by_env: bool = False) -> np.ndarray:
    seen: Counter[object] = Counter()
    bonuses = []
    for n, now, after, first in walk(fragments):
        table = n if by_env else 0
        here, there = _literal_feature(name, now), _literal_feature(name, after)
        seen[table, here] += first
        seen[table, there] += 1
        bonuses.append(1 / np.sqrt(seen[table, there]))
    return np.array(bonuses).reshape(-1, fragments[0].num_envs)


def _literal_visits(fragments: Sequence[Fragment], name: str) -> np.ndarray:
    seen: dict[int, Counter[object]] = {}
    visits = []
    for n, now, after, first in walk(fragments):
        if first:
            seen[n] = Counter([_literal_feature(name, now)])
        there = _literal_feature(name, after)
        seen[n][there] += 1
        visits.append(seen[n][there])
    return np.array(visits).reshape(-1, fragments[0].num_envs)


def _run(bonus: GlobalCount | EpisodicCount, fragments: Sequence[Fragment]) -> np.ndarray:
    return torch.cat([bonus.compute(fragment) for fragment in fragments]).numpy()


@pytest.mark.parametrize("name", FEATURES)
@pytest.mark.parametrize("lengths", CUTS)
def test_global_count_equals_a_dictionary(name: str, lengths: list[int]) -> None:
    fragments = Trajectory(3, 60, seed=1).cut(lengths)
    bonus = _run(GlobalCount(name).build(_setting()), fragments)
    np.testing.assert_allclose(bonus, _literal_global(fragments, name), rtol=1e-15)


def test_runner_scope_keeps_one_table_per_env() -> None:
    trajectory = Trajectory(3, 60, seed=2)
    fragments = trajectory.cut([20, 40])
    bonus = GlobalCount("position", count_scope="runner").build(_setting())
    together = _run(bonus, fragments)
    np.testing.assert_allclose(together, _literal_global(fragments, "position", by_env=True), rtol=1e-15)
    for env_index in range(3):
        alone = _run(
            GlobalCount("position").build(_setting()), [fragment.select_envs([env_index]) for fragment in fragments]
        )
        assert (alone[:, 0] == together[:, env_index]).all()


@pytest.mark.parametrize("name", FEATURES)
@pytest.mark.parametrize("lengths", CUTS)
@pytest.mark.parametrize("form", ["indicator", "root"])
def test_episodic_count_equals_a_dictionary(name: str, lengths: list[int], form: str) -> None:
    fragments = Trajectory(3, 60, seed=4).cut(lengths)
    bonus = _run(EpisodicCount(name, form).build(_setting()), fragments)  # type: ignore[arg-type]
    visits = _literal_visits(fragments, name)
    expected = visits == 1 if form == "indicator" else 1 / np.sqrt(visits)
    np.testing.assert_allclose(bonus, expected, rtol=1e-15)


def test_env_selection_and_order_do_not_matter() -> None:
    fragments = Trajectory(4, 60, seed=5).cut([25, 35])
    together = _run(EpisodicCount("position", "root").build(_setting()), fragments)
    order = [2, 0, 3]
    some = _run(EpisodicCount("position", "root").build(_setting()), [part.select_envs(order) for part in fragments])
    assert (some == together[:, order]).all()


def test_a_lost_fragment_restarts_the_episode() -> None:
    trajectory = Trajectory(2, 60, seed=6, mean_episode=200)
    before, _, after = trajectory.cut([20, 20, 20])
    assert not after.first[0].any()
    bonus = EpisodicCount("position", "root").build(_setting())
    bonus.compute(before)
    fresh = copy.deepcopy(after)
    fresh.first[0] = True
    expected = EpisodicCount("position", "root").build(_setting()).compute(fresh)
    assert torch.equal(bonus.compute(after), expected)


def test_returning_to_the_first_state_gives_no_bonus() -> None:
    fragment = Trajectory(1, 30, seed=7, mean_episode=1000, grid=2).cut([30])[0]
    bonus = EpisodicCount("position").build(_setting()).compute(fragment)[:, 0].numpy()
    keys = fragment_keys(feature_of("position", OBSERVATION_SPACE), fragment)
    assert (keys[1:] == keys[0]).any()
    assert (bonus[keys[1:] == keys[0]] == 0).all()
    assert bonus.sum() == len(np.unique(keys)) - 1


def test_global_bonus_decreases_with_visits() -> None:
    bonus = GlobalCount("position").build(_setting())
    means = [float(bonus.compute(fragment).mean()) for fragment in Trajectory(4, 200, seed=8).cut([40] * 5)]
    assert means == sorted(means, reverse=True)
    assert means[-1] < means[0] / 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: GlobalCount("message"),
        lambda: GlobalCount("glyphs", "runner"),
        lambda: EpisodicCount("position", "root"),
    ],
)
def test_state_round_trips_exactly(make) -> None:  # type: ignore[no-untyped-def]
    fragments = Trajectory(3, 80, seed=9).cut([20] * 4)
    bonus = make().build(_setting())
    _run(bonus, fragments[:2])
    state = copy.deepcopy(bonus.state_dict())
    snapshot = bonus.state_dict()
    expected = _run(bonus, fragments[2:])
    for saved in (state, snapshot):  # the snapshot must not follow the bonus
        restored = make().build(_setting())
        restored.load_state_dict(saved)
        assert (_run(restored, fragments[2:]) == expected).all()


def test_unknown_features_and_missing_observations_are_rejected() -> None:
    with pytest.raises(InvalidInput, match="did you mean position"):
        GlobalCount("postion")
    with pytest.raises(InvalidInput, match="did you mean glyphs"):
        EpisodicCount("glyph")
    pixels = Setting(gym.spaces.Dict({"image": gym.spaces.Box(0, 255, (8, 8), np.uint8)}), 4)
    with pytest.raises(InvalidInput, match=r"needs the observation 'blstats', or .*; this environment shows image"):
        GlobalCount("position").build(pixels)
    GlobalCount("observation").build(pixels)


def test_an_environment_can_add_a_feature() -> None:
    @state_feature("test_coarse_position", "blstats")
    def coarse(observations):  # type: ignore[no-untyped-def]
        blstats = observations["blstats"]
        return pair_keys(blstats[:, 0] // 3, blstats[:, 1] // 3)

    fragments = Trajectory(2, 40, seed=10).cut([40])
    fine = _run(EpisodicCount("position").build(_setting()), fragments)
    rough = _run(EpisodicCount("test_coarse_position").build(_setting()), fragments)
    assert rough.sum() < fine.sum()
    assert str(EpisodicCount("test_coarse_position")) == "count.episodic(feature=test_coarse_position)"


def test_memory_is_linear_in_distinct_states() -> None:
    trajectory = Trajectory(1, 4000, seed=11, mean_episode=10**9, grid=7)
    bonus = EpisodicCount("observation", "root").build(_setting())
    _run(bonus, trajectory.cut([80] * 50))
    (_, _, counts) = bonus._counter._memory.state_dict()["kept"][0]
    assert counts.table.nbytes <= 52 * max(len(counts), 40)

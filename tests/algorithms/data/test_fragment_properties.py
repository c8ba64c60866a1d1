"""Fragments of any shape and cut: envs split and join without a change, and cuts do not change episodic counts."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.counts import EpisodicCount, GlobalCount
from bonuslab.algorithms.data.fragment import Fragment, concat_envs
from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE, Trajectory, walk

LENGTHS = st.lists(st.integers(1, 9), min_size=1, max_size=5)
ENVS = st.integers(1, 4)
SEEDS = st.integers(0, 2**16)
EPISODES = st.integers(1, 12)


def arrays(fragment: Fragment) -> dict[str, np.ndarray]:
    """All arrays by name, the finals in the order of their steps, since theirs is irrelevant."""
    order = np.lexsort(fragment.final_index.T)
    found = {}
    for item in fields(Fragment):
        value = getattr(fragment, item.name)
        parts = value if isinstance(value, dict) else {"": value}
        for key, part in parts.items():
            final = item.name in ("finals", "final_index")
            found[f"{item.name}/{key}"] = np.asarray(part)[order] if final else np.asarray(part)
    return found


def assert_same(one: Fragment, other: Fragment) -> None:
    left, right = arrays(one), arrays(other)
    assert left.keys() == right.keys()
    for name, part in left.items():
        np.testing.assert_array_equal(part, right[name], err_msg=name)


@settings(max_examples=50)
@given(ENVS, LENGTHS, SEEDS, EPISODES, st.data())
def test_envs_split_and_join(envs: int, lengths: list[int], seed: int, mean: int, data: st.DataObject) -> None:
    for fragment in Trajectory(envs, sum(lengths), seed, mean_episode=mean).cut(lengths):
        order = data.draw(st.permutations(range(envs)))
        place = data.draw(st.integers(0, envs))
        parts = [fragment.select_envs(part) for part in (order[:place], order[place:]) if part]
        joined = concat_envs(parts)
        assert_same(joined, fragment.select_envs(order))
        assert_same(joined.select_envs([order.index(env) for env in range(envs)]), fragment)


@settings(max_examples=50)
@given(ENVS, LENGTHS, SEEDS, EPISODES)
def test_every_step_leads_to_its_true_next_state(envs: int, lengths: list[int], seed: int, mean: int) -> None:
    fragments = Trajectory(envs, sum(lengths), seed, mean_episode=mean).cut(lengths)
    truth = walk(fragments)
    for fragment in fragments:
        states, index = fragment.states(), fragment.next_state_index()
        assert len(np.unique(index)) == index.size
        for step in index.reshape(-1):
            _, _, after, _ = next(truth)
            for key, rows in states.items():
                np.testing.assert_array_equal(rows[step], after[key])


@settings(max_examples=40)
@given(ENVS, LENGTHS, SEEDS, EPISODES, st.sampled_from([EpisodicCount, GlobalCount]))
def test_cuts_do_not_change_counts(
    envs: int, lengths: list[int], seed: int, mean: int, kind: type[EpisodicCount] | type[GlobalCount]
) -> None:
    trajectory = Trajectory(envs, sum(lengths), seed, mean_episode=mean)
    whole, parts = (kind().build(Setting(OBSERVATION_SPACE, NUM_ACTIONS, network="small")) for _ in range(2))
    cut = np.concatenate([parts.compute(fragment).numpy() for fragment in trajectory.cut(lengths)])
    np.testing.assert_array_equal(cut, whole.compute(trajectory.cut([sum(lengths)])[0]).numpy())

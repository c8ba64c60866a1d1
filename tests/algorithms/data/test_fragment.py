"""Fragments: every state once, the true next state, splitting and joining envs, and memory across boundaries."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from bonuslab.algorithms.bonuses.memory.episode_memory import EpisodeMemory
from bonuslab.algorithms.data.fragment import Fragment, concat_envs
from bonuslab.algorithms.data.synthetic import Trajectory


@pytest.fixture
def trajectory():
    return Trajectory(num_envs=4, num_steps=50, seed=11, mean_episode=7)


@pytest.fixture
def fragment(trajectory):
    whole = trajectory.cut([50])[0]
    rng = np.random.default_rng(0)
    return replace(
        whole,
        state=(rng.normal(size=(1, 4, 5)), rng.normal(size=(1, 4, 5))),
        policy_features=rng.normal(size=(51, 4, 3)),
        extra={"bonus": rng.normal(size=(50, 4))},
    )


def assert_same(one: Fragment, other: Fragment) -> None:
    for item in fields(Fragment):
        left, right = getattr(one, item.name), getattr(other, item.name)
        if isinstance(left, dict):
            assert left.keys() == right.keys()
            left, right = list(left.values()), list(right.values())
        if not isinstance(left, list | tuple):
            left, right = [left], [right]
        assert len(left) == len(right)
        for a, b in zip(left, right, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=item.name)


def in_order(fragment: Fragment) -> Fragment:
    """The fragment with its finals sorted by (t, n), since their order is irrelevant."""
    order = np.lexsort((fragment.final_index[:, 1], fragment.final_index[:, 0]))
    return replace(
        fragment,
        finals={key: rows[order] for key, rows in fragment.finals.items()},
        final_index=fragment.final_index[order],
    )


def test_shapes_and_flags_agree(fragment):
    T, N = fragment.num_steps, fragment.num_envs
    assert (T, N) == (50, 4)
    assert fragment.done.sum() == len(fragment.final_index) > 10
    np.testing.assert_array_equal(fragment.first[1:], fragment.done)
    np.testing.assert_array_equal(np.diff(fragment.episode, axis=0), fragment.done)
    assert not (fragment.terminated & fragment.truncated).any()


def test_the_next_state_is_the_true_one(fragment):
    states, index = fragment.states(), fragment.next_state_index()
    ends = {(t, n): row for row, (t, n) in enumerate(fragment.final_index)}
    for key, rows in states.items():
        assert len(rows) == 51 * 4 + len(ends)
        for t in range(50):
            for n in range(4):
                ended = (t, n) in ends
                expected = fragment.finals[key][ends[t, n]] if ended else fragment.observations[key][t + 1, n]
                assert ended == fragment.done[t, n]
                np.testing.assert_array_equal(rows[index[t, n]], expected)
                np.testing.assert_array_equal(rows[t * 4 + n], fragment.observations[key][t, n])


def test_a_fragment_without_episode_ends_has_no_finals():
    quiet = Trajectory(num_envs=2, num_steps=5, mean_episode=10**9).cut([5])[0]
    assert len(quiet.final_index) == 0
    assert len(quiet.states()["blstats"]) == 12
    np.testing.assert_array_equal(quiet.next_state_index(), np.arange(2, 12).reshape(5, 2))
    assert quiet.select_envs([1]).final_index.shape == (0, 2)


def test_splitting_and_joining_envs_is_lossless(fragment):
    apart = [fragment.select_envs([n]) for n in range(4)]
    assert_same(in_order(concat_envs(apart)), in_order(fragment))
    assert_same(in_order(concat_envs([fragment.select_envs([0, 2]), fragment.select_envs([1, 3])])),
                in_order(fragment.select_envs([0, 2, 1, 3])))  # fmt: skip
    assert concat_envs([fragment]) is fragment


def test_selected_envs_keep_their_next_states(fragment):
    chosen = fragment.select_envs([3, 1])
    np.testing.assert_array_equal(chosen.env_index, fragment.env_index[[3, 1]])
    whole, part = fragment.states()["blstats"], chosen.states()["blstats"]
    np.testing.assert_array_equal(part[chosen.next_state_index()], whole[fragment.next_state_index()[:, [3, 1]]])
    np.testing.assert_array_equal(chosen.state[0], fragment.state[0][:, [3, 1]])
    np.testing.assert_array_equal(chosen.extra["bonus"], fragment.extra["bonus"][:, [3, 1]])


def test_fragments_of_different_lengths_cannot_be_joined(trajectory):
    with pytest.raises(ValueError, match=r"\[20, 30\]"):
        concat_envs(trajectory.cut([20, 30]))


def test_cutting_loses_nothing(trajectory):
    whole, parts = trajectory.cut([50])[0], trajectory.cut([1, 19, 30])
    np.testing.assert_array_equal(np.concatenate([part.action for part in parts]), whole.action)
    np.testing.assert_array_equal(np.concatenate([part.first[:-1] for part in parts]), whole.first[:-1])
    assert sum(len(part.final_index) for part in parts) == len(whole.final_index)
    states = [part.states()["blstats"][part.next_state_index()] for part in parts]
    np.testing.assert_array_equal(np.concatenate(states), whole.states()["blstats"][whole.next_state_index()])
    assert [int(part.sequence[0]) for part in parts] == [0, 1, 2]


def test_memory_lasts_exactly_one_episode(trajectory):
    memory: EpisodeMemory[list[int]] = EpisodeMemory(list)
    for part in trajectory.cut([10, 10, 10, 10]):
        for n in range(4):
            steps = memory.recall(part, n)
            for t in range(part.num_steps):
                if part.first[t, n]:
                    steps = memory.fresh()
                steps.append(1)
            start = int(np.flatnonzero(trajectory.first[: 10 * (part.sequence[n] + 1), n])[-1])
            assert len(steps) == 10 * (part.sequence[n] + 1) - start
            memory.store(part, n, steps)


def test_memory_is_reset_by_a_gap_another_episode_or_a_restart():
    parts = Trajectory(num_envs=1, num_steps=30, mean_episode=10**9).cut([10, 10, 10])

    def recalled(changed: Fragment) -> list[int]:
        memory: EpisodeMemory[list[int]] = EpisodeMemory(list)
        memory.store(parts[0], 0, [7])
        restored: EpisodeMemory[list[int]] = EpisodeMemory(list)
        restored.load_state_dict(memory.state_dict())
        assert restored.recall(changed, 0) == memory.recall(changed, 0)
        return memory.recall(changed, 0)

    following = parts[1]
    started = following.first.copy()
    started[0] = True
    assert recalled(following) == [7]
    assert recalled(parts[2]) == []
    assert recalled(parts[0]) == []
    assert recalled(replace(following, episode=following.episode + 1)) == []
    assert recalled(replace(following, first=started)) == []
    assert recalled(replace(following, env_index=following.env_index + 1)) == []

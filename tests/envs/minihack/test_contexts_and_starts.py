"""Sets of winnable maps, and envs that start at different times."""

from __future__ import annotations

import numpy as np
import pytest

from bonuslab.envs.catalogue import check_settings, make_held_out_vector_env
from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.minihack import MiniHackEnv, MiniHackVectorEnv
from bonuslab.envs.minihack.explorer import Explorer

TASK = "Corridor-R2"


def explorer_steps(context: int, limit: int) -> int | None:
    """Steps in which the scripted explorer wins a map; None if it does not within the limit."""
    env = MiniHackEnv(TASK, max_steps=limit)
    explorer = Explorer(env.task.actions, seed=0)
    observation, info = env.reset(options={"context": context})
    steps, ended = 0, False
    while not ended:
        observation, _, terminated, truncated, info = env.step(explorer.act(observation))
        steps, ended = steps + 1, terminated or truncated
    env.close()
    return steps if info["end_status"] == "won" else None


def test_a_set_of_winnable_maps_is_the_full_one_without_the_others() -> None:
    everyone = MiniHackEnv(TASK, contexts=6, seed=3).contexts.ids
    winnable = MiniHackEnv(TASK, contexts=2, seed=3, winnable_within=100).contexts.ids
    assert everyone is not None
    expected = [context for context in everyone if explorer_steps(context, 100) is not None]
    assert 2 <= len(expected) < 6
    assert winnable == tuple(expected[:2])


def test_held_out_contexts_are_not_filtered() -> None:
    plain = MiniHackEnv(TASK, contexts=2, seed=3, held_out=True).contexts.ids
    assert MiniHackEnv(TASK, contexts=2, seed=3, held_out=True, winnable_within=100).contexts.ids == plain
    make_held_out_vector_env(TASK, 1, contexts=2, seed=3, winnable_within=100).close()  # an evaluation draws any maps


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"winnable_within": 100, "contexts": "inf"}, "needs a finite number of contexts"),
        ({"winnable_within": 0, "contexts": 1}, "winnable_within"),
        ({"stagger": "yes"}, "stagger 'yes' cannot be used; allowed: true, false"),
    ],
)
def test_settings_that_cannot_be_used(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        check_settings(TASK, **settings)


def test_staggered_envs_end_their_first_episodes_one_after_another_and_resume() -> None:
    envs = MiniHackVectorEnv("MultiRoom-N6-S5", 4, seed=1, max_steps=20, stagger=True)
    envs.reset()
    noop = np.zeros(4, int)  # walking north never wins here
    ends: dict[int, list[tuple[int, str]]] = {index: [] for index in range(4)}
    for step in range(1, 13):
        for ended in envs.step(noop).finished:
            ends[ended.env_index].append((step, ended.end_status))
    assert ends == {0: [(5, "shortened")], 1: [(10, "shortened")], 2: [], 3: []}
    copy = MiniHackVectorEnv("MultiRoom-N6-S5", 4, seed=1, max_steps=20, stagger=True)
    copy.set_state(envs.get_state())
    for step in range(13, 26):
        results = [which.step(noop) for which in (envs, copy)]
        assert [[e.env_index for e in result.finished] for result in results] == [
            [e.env_index for e in results[0].finished]
        ] * 2
        assert np.array_equal(results[0].truncated, results[1].truncated)
        for ended in results[0].finished:
            ends[ended.env_index].append((step, ended.end_status))
    assert ends == {
        0: [(5, "shortened"), (25, "step_limit")],
        1: [(10, "shortened")],
        2: [(15, "shortened")],
        3: [(20, "step_limit")],
    }


def test_a_shortened_episode_had_less_time_even_if_it_was_won() -> None:
    envs = MiniHackVectorEnv("MultiRoom-N2-S4", 16, seed=1, stagger=True)
    envs.reset()
    rng = np.random.default_rng(0)
    actions = len(envs.task.keys)
    ended = [found for _ in range(80) for found in envs.step(rng.integers(actions, size=16)).finished]
    first = {found.env_index: found for found in reversed(ended)}
    assert all(first[index].had_less_time == (index < 15) for index in range(16))
    assert {first[index].end_status for index in range(15)} >= {"won", "shortened"}
    assert sum(found.had_less_time for found in ended) == 15

"""Our environment equals upstream's step by step: observations, rewards and endings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bonuslab.envs.minihack import TASKS, Task, task

STEPS = 400
MAX_EPISODES = 25


def _random_actor(task: Task, seed: int) -> Callable[[Any], int]:
    rng = np.random.default_rng(seed)
    return lambda observation: int(rng.integers(len(task.actions)))


@pytest.mark.parametrize("name", sorted(TASKS))
def test_random_play_is_identical(name: str, make_pair: Callable[..., Any]) -> None:
    pair = make_pair(TASKS[name])
    act = _random_actor(TASKS[name], seed=len(name))
    context = 1000
    while pair.steps < STEPS and context < 1000 + MAX_EPISODES:
        pair.play(context, act)
        context += 1


@pytest.mark.parametrize("name", ["MultiRoom-N6-LavaMonsters", "LavaCross-Restricted", "WoD-Hard-Restricted"])
def test_random_play_is_identical_on_highly_random_tasks(name: str, make_pair: Callable[..., Any]) -> None:
    pair = make_pair(task(name))
    act = _random_actor(task(name), seed=5)
    for context in range(2**47, 2**47 + 10):
        pair.play(context, act)
    assert len(pair.endings) == 10


def test_deaths_are_identical(make_pair: Callable[..., Any]) -> None:
    pair = make_pair(task("MultiRoom-N6-Lava"))
    act = _random_actor(task("MultiRoom-N6-Lava"), seed=1)
    for context in range(30):
        pair.play(context, act)
    assert pair.endings.count("died") > 20


def test_the_step_limit_is_identical_but_truncates(make_pair: Callable[..., Any]) -> None:
    pair = make_pair(task("MultiRoom-N10"), max_steps=5)
    act = _random_actor(task("MultiRoom-N10"), seed=1)
    assert [pair.play(context, act) for context in range(5)] == ["step_limit"] * 5


def test_reaching_the_goal_on_the_last_step_is_the_step_limit(make_pair: Callable[..., Any]) -> None:
    """Like upstream, we check the limit first."""
    from bonuslab.envs.minihack.explorer import Explorer

    corridor = task("MultiRoom-N2-S4")
    free = make_pair(task("MultiRoom-N2"))
    context = 3
    explorer = Explorer(corridor.actions, 0)
    assert free.play(context, explorer.act) == "won"
    tight = make_pair(task("MultiRoom-N2"), max_steps=free.steps)
    assert tight.play(context, Explorer(corridor.actions, 0).act) == "step_limit"

"""Plans are the game's levels, and an agent that follows V* wins in the real game."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest

from bonuslab.envs.minihack import MiniHackEnv, glyphs, make
from bonuslab.envs.minihack.contexts import MiniHackContexts
from bonuslab.envs.minihack.known_map import NEIGHBOURS
from bonuslab.experiments.value_functions.floor_plan import plan_of_level
from bonuslab.experiments.value_functions.game_states import GameStates
from bonuslab.experiments.value_functions.optimal_values import Solution, shortest_walk_values, solve
from bonuslab.experiments.value_functions.survey import find_plan, survey
from bonuslab.experiments.value_functions.value_follower import ValueFollower, deadly_steps

RANDOM_STEPS = 15
"""Most steps taken at random before the agent follows V*."""


def wins(env: MiniHackEnv, contexts: Iterable[int], seed: int = 0) -> Counter[str]:
    """How episodes end when the agent follows V* from a random place."""
    random = np.random.default_rng(seed)
    endings: Counter[str] = Counter()
    for context in contexts:
        plan = find_plan(env, context)
        if plan is None:
            endings["not surveyed"] += 1
            continue
        solution = solve(GameStates(plan, env.task))
        endings[follow(env, solution, context, random)] += 1
    return endings


def follow(env: MiniHackEnv, solution: Solution, context: int, random: np.random.Generator) -> str:
    follower = ValueFollower(solution, env.task)
    plan = solution.states.plan
    observation, info = env.reset(options={"context": context})
    random_steps = int(random.integers(RANDOM_STEPS + 1))
    expected = None
    for step in range(env.max_steps):
        state = follower.reader.read(observation)
        assert state in solution.values
        assert expected in (None, state), f"context {context}"
        expected = None
        near_goal = max(abs(state.cell[0] - plan.goal[0]), abs(state.cell[1] - plan.goal[1])) == 1
        if step < random_steps and not near_goal:
            action = int(random.choice(sorted(set(range(len(NEIGHBOURS))) - deadly_steps(plan.terrain, state.cell))))
        else:
            action = follower.act_in(state, observation)
            move = solution.best[state]
            expected = move.target if move.chance == 1 else None  # what cannot fail does what it says
        observation, _, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            break
    return str(info["end_status"])


@pytest.mark.parametrize(
    "name", ["MultiRoom-N6-Lava", "MultiRoom-N4-Locked", "LavaCrossingS19N17", "KeyRoom-S10", "MultiRoom-N10-OpenDoor"]
)
def test_following_the_values_wins(name: str) -> None:
    env = make(name)
    try:
        assert wins(env, MiniHackContexts(4, seed=11).ids or ()) == {"won": 4}
    finally:
        env.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "num"),
    [
        ("MultiRoom-N6-Lava", 60),
        ("MultiRoom-N6", 40),
        ("MultiRoom-N10", 20),
        ("MultiRoom-N4-Locked", 60),
        ("LavaCrossingS19N13", 40),
        ("KeyRoom-S10", 60),
        ("Corridor-R2", 12),
    ],
)
def test_following_the_values_wins_nearly_always(name: str, num: int) -> None:
    """292 contexts in all; at most one of a task's is lost, because luck decides how long a door resists."""
    env = make(name)
    try:
        endings = wins(env, MiniHackContexts(num, seed=3).ids or (), seed=1)
    finally:
        env.close()
    print(name, dict(endings))
    played = num - endings["not surveyed"]
    assert played >= 0.75 * num
    assert endings["won"] >= 0.99 * played


def test_a_survey_finds_what_the_map_says() -> None:
    """On a level whose map is known: the same reachable floor, doors, start and goal, so the same values."""
    env = make("MultiRoom-N4-S5", max_steps=1000)
    try:
        for context in (3, 8):
            env.reset(options={"context": context})
            assert env.level is not None
            known, found = plan_of_level(env.level), survey(env, context)
            assert found is not None
            assert (found.start, found.goal) == (known.start, known.goal)
            assert {(item.cell, item.kind) for item in found.obstacles} == {
                (item.cell, item.kind) for item in known.obstacles
            }
            np.testing.assert_array_equal(shortest_walk_values(found), shortest_walk_values(known))
            solved = [solve(GameStates(plan, env.task)).positions() for plan in (found, known)]
            np.testing.assert_allclose(*solved)
    finally:
        env.close()


def test_a_survey_finds_key_and_lock() -> None:
    env = make("KeyRoom-S5")
    try:
        plan = survey(env, 4)
        assert plan is not None
        observation, _ = env.reset(options={"context": 4})
        shown = glyphs.symbols()[0][observation["glyphs"]]
        keys = {(int(y), int(x)) for y, x in np.argwhere(shown == ord("("))}
        assert plan.key is not None
        assert keys <= {plan.key}
        assert [item.kind for item in plan.obstacles] == ["locked"]
        assert solve(GameStates(plan, env.task)).values[GameStates(plan, env.task).start] > 0
    finally:
        env.close()

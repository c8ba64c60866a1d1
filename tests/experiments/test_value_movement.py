"""The rule of movement is the game's own: every step of random walks does what it says."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from bonuslab.envs.minihack import glyphs as g
from bonuslab.envs.minihack import make
from bonuslab.envs.minihack.known_map import NEIGHBOURS
from bonuslab.envs.minihack.render import agent_cell, message_text
from bonuslab.experiments.value_functions.floor_plan import CLOSED_DOOR, FloorPlan, plan_of_level
from bonuslab.experiments.value_functions.movement import DIAGONAL_DOORS, FOUR_MOVES, Outcome, neighbours, outcome

PUSHED = ("The door opens.", "The door resists", "This door is locked")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("MultiRoom-N6-S5", {Outcome.MOVES, Outcome.STAYS, Outcome.PUSHES}),
        ("MultiRoom-N4-Locked", {Outcome.MOVES, Outcome.STAYS, Outcome.PUSHES}),
        ("MultiRoom-N6-Lava-OpenDoor", {Outcome.MOVES, Outcome.DIES}),
        ("LavaCrossingS19N13", {Outcome.MOVES, Outcome.STAYS, Outcome.DIES}),
    ],
)
def test_random_walks_do_what_the_rule_says(name: str, expected: set[Outcome]) -> None:
    """Steps of all kinds occur: into walls, doors in all states, lava, and corners."""
    random = np.random.default_rng(5)
    seen: Counter[Outcome] = Counter()
    env = make(name)
    try:
        for context in range(8):
            observation, _ = env.reset(options={"context": context})
            assert env.level is not None
            plan = plan_of_level(env.level)
            assert agent_cell(observation["blstats"]) == plan.start
            terrain, ended = plan.terrain.copy(), False
            while not ended:
                here = agent_cell(observation["blstats"])
                watch_doors(terrain, plan, observation)
                action = int(random.integers(len(env.task.actions)))
                move = action if action < len(NEIGHBOURS) and not asks(observation) else None
                expects = outcome(terrain, here, NEIGHBOURS[move]) if move is not None else None
                if expects is Outcome.DIES and random.random() < 0.9:
                    continue  # otherwise the walks are over before they begin
                observation, _, terminated, truncated, info = env.step(action)
                ended = terminated or truncated
                if expects is not None:
                    seen[expects] += 1
                    assert happened(here, observation, info["end_status"]) is expects, (
                        context,
                        here,
                        NEIGHBOURS[action],
                    )
    finally:
        env.close()
    assert set(seen) >= expected, seen


def asks(observation: dict[str, np.ndarray]) -> bool:
    """Whether the game wants to know in which direction to kick or open."""
    return "In what direction" in message_text(observation["message"])


def watch_doors(terrain: np.ndarray, plan: FloorPlan, observation: dict[str, np.ndarray]) -> None:
    """Take over the doors' state from what is seen, as an agent can."""
    for obstacle in plan.obstacles:
        symbol = observation["glyphs"][obstacle.cell] - g.STONE
        if symbol in (g.DOORWAY, *g.OPEN_DOORS, *g.CLOSED_DOORS):
            terrain[obstacle.cell] = symbol


def happened(here: tuple[int, int], observation: dict[str, np.ndarray], end_status: str) -> Outcome:
    if end_status == "died":
        return Outcome.DIES
    if agent_cell(observation["blstats"]) != here:
        return Outcome.MOVES
    message = message_text(observation["message"])
    return Outcome.PUSHES if message.startswith(PUSHED) else Outcome.STAYS


def test_intact_doors_are_not_crossed_diagonally() -> None:
    terrain = np.full((21, 79), g.FLOORS[0], np.int16)
    terrain[5, 5] = CLOSED_DOOR
    straight = {(4, 5), (6, 5), (5, 4), (5, 6)}
    assert set(neighbours(terrain)[5, 5]) == straight
    assert (5, 5) not in neighbours(terrain)[4, 4]
    assert set(neighbours(terrain, FOUR_MOVES)[5, 5]) == straight
    assert len(neighbours(terrain, DIAGONAL_DOORS)[5, 5]) == 8
    terrain[5, 5] = g.DOORWAY  # a broken door
    assert len(neighbours(terrain)[5, 5]) == 8
    assert len(neighbours(terrain)[0, 0]) == 3

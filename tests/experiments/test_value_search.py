"""Graph search against value iteration, literally, on small maps with doors, locks, a key and hidden passages."""

from __future__ import annotations

import numpy as np
import pytest

from bonuslab.envs.minihack import glyphs as g
from bonuslab.envs.minihack import task
from bonuslab.experiments.value_functions.floor_plan import (
    CLOSED_DOOR,
    COLUMNS,
    ROWS,
    WALL,
    FloorPlan,
    Obstacle,
    plan_of_level,
)
from bonuslab.experiments.value_functions.game_states import GameStates, State
from bonuslab.experiments.value_functions.movement import Outcome, outcome
from bonuslab.experiments.value_functions.optimal_values import factor, shortest_walk_values, solve

KINDS = {"c": "closed", "l": "locked", "h": "hidden"}
MAPS = {
    "two ways, one through a closed door": ("MultiRoom-N6", ["........", ".######.", "s.c...g.", ".######."]),
    "locked doors are kicked, and then crossed diagonally": ("MultiRoom-N4-Locked", ["s..#...", "...l...", "...#..g"]),
    "the key opens the lock": ("KeyRoom-S5", ["s..#...", "..kl.g.", "...#..."]),
    "a hidden passage is shorter": ("Corridor-R2", ["s.h.g", ".####", "....."]),
    "a dead end behind a door": ("MultiRoom-N6", ["..c.s.c.g", "#######.#", "........."]),
}


def draw(rows: list[str]) -> FloorPlan:
    """A plan from letters: start, goal, key, and doors."""
    terrain = np.full((ROWS, COLUMNS), WALL, np.int16)
    places: dict[str, tuple[int, int]] = {}
    obstacles = []
    for y, row in enumerate(rows, start=3):
        for x, letter in enumerate(row, start=7):
            if letter != "#":
                terrain[y, x] = CLOSED_DOOR if letter in "cl" else g.FLOORS[0]
            if letter in KINDS:
                obstacles.append(Obstacle((y, x), KINDS[letter]))  # type: ignore[arg-type]
            places[letter] = (y, x)
    return FloorPlan(terrain, places["s"], places["g"], tuple(obstacles), places.get("k"))


def value_iteration(states: GameStates, discount: float) -> dict[State, float]:
    """V(s) = max_a [p γ^k V(s') + (1 − p) γ^k V(s)], until nothing changes; 1 at the goal."""
    reached, new = {states.start}, [states.start]
    while new:
        new = list({move.target for state in new for move in states.transitions(state)} - reached)
        reached |= set(new)
    values = {state: float(state.cell == states.plan.goal) for state in reached}
    for _ in range(3000):
        before = dict(values)
        for state in reached:
            for move in states.transitions(state):
                step = discount ** len(move.keys)
                worth = move.chance * step * before[move.target] + (1 - move.chance) * step * before[state]
                values[state] = max(values[state], worth)
        if all(abs(values[state] - before[state]) < 1e-13 for state in reached):
            return values
    raise AssertionError("value iteration does not converge")


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("discount", [0.9, 0.6])
def test_graph_search_is_value_iteration(name: str, discount: float) -> None:
    of_task, rows = MAPS[name]
    states = GameStates(draw(rows), task(of_task))
    solution, expected = solve(states, discount), value_iteration(states, discount)
    assert solution.values.keys() == expected.keys()
    for state, value in expected.items():
        assert solution.values[state] == pytest.approx(value, abs=1e-10), state
        if 0 < value < 1:
            best = solution.best[state]
            assert factor(best, discount) * expected[best.target] == pytest.approx(value, abs=1e-10)
    positions = solution.positions()
    for cell in np.ndindex(positions.shape):
        here = [value for state, value in expected.items() if state.cell == cell]
        assert positions[cell] == pytest.approx(min(here, default=0.0), abs=1e-10)


def test_the_chance_of_failure_costs_time() -> None:
    """One closed door between start and goal, by hand: V = m γ γ with m = pγ / (1 − (1 − p) γ)."""
    states = GameStates(draw(["scg"]), task("MultiRoom-N6"))
    push = 0.74 * 0.9 / (1 - 0.26 * 0.9)
    assert solve(states).values[states.start] == pytest.approx(push * 0.9**2)
    assert solve(GameStates(draw(["s#g"]), task("MultiRoom-N6"))).values[states.start] == 0
    assert (
        solve(GameStates(draw(["slg"]), task("MultiRoom-N6"))).values[states.start] == 0
    )  # it can neither kick nor unlock


def test_shortest_walks_on_a_real_level() -> None:
    """Against Bellman's equation over single steps, with every door open; floor that nobody reaches stays 0."""
    plan = plan_of_level(task("MultiRoom-N6-Lava").levels.build(1))
    values = shortest_walk_values(plan)
    terrain = plan.terrain.copy()
    for obstacle in plan.obstacles:
        terrain[obstacle.cell] = g.OPEN_DOORS[0]
    assert values[plan.goal] == 1
    assert values[plan.start] > 0
    steps = [(y, x) for y in (-1, 0, 1) for x in (-1, 0, 1) if y or x]
    for y, x in np.argwhere(np.isin(terrain, sorted(g.PASSABLE))):
        cell = (int(y), int(x))
        around = [(y + dy, x + dx) for dy, dx in steps if outcome(terrain, cell, (dy, dx)) is Outcome.MOVES]
        best = max((0.9 * values[other] for other in around), default=0.0)
        assert values[cell] == pytest.approx(1.0 if cell == plan.goal else best)
    assert np.count_nonzero(values) < np.isin(terrain, sorted(g.PASSABLE)).sum()
    assert not values[~np.isin(terrain, sorted(g.PASSABLE))].any()

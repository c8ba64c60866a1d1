"""V* on a plan by graph search, and its infimum over states with the same position (the paper's equation of V*_ψ).

With discount γ, repeating an action of a steps that succeeds with probability p, and otherwise changes nothing, has the
value of its target times

    m = p γ^a / (1 − (1 − p) γ^a)

So V* is the largest product of these factors along a path to the goal, whose value is 1, and Dijkstra's algorithm from
the goal finds it exactly.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from bonuslab.experiments.value_functions.floor_plan import COLUMNS, ROWS, Cell, FloorPlan
from bonuslab.experiments.value_functions.game_states import GameStates, State, Transition
from bonuslab.experiments.value_functions.movement import NETHACK, Rule, neighbours

DISCOUNT: Final = 0.9
"""The paper's γ for value functions."""


def factor(transition: Transition, discount: float = DISCOUNT) -> float:
    """The factor m between a target's value and the value of taking a transition to it."""
    step, chance = discount ** len(transition.keys), transition.chance
    return chance * step / (1 - (1 - chance) * step)


@dataclass(frozen=True)
class Solution:
    """Optimal values of all states reachable from the start, and the best transition in each."""

    states: GameStates
    values: Mapping[State, float]
    """0 if the goal cannot be reached."""
    best: Mapping[State, Transition]
    """Without the goal and states that have no path to it."""

    def positions(self) -> np.ndarray:
        """[21, 79]: V*_{ψ,c} for ψ = position; 0 where the agent never is."""
        lowest = np.full((ROWS, COLUMNS), np.inf)
        for state, value in self.values.items():
            lowest[state.cell] = min(lowest[state.cell], value)
        return np.where(np.isinf(lowest), 0.0, lowest)


def solve(states: GameStates, discount: float = DISCOUNT) -> Solution:
    """Optimal values by Dijkstra's algorithm from the goal."""
    into: dict[State, list[tuple[State, Transition]]] = {states.start: []}
    queue = deque([states.start])
    while queue:
        state = queue.popleft()
        for transition in states.transitions(state):
            if transition.target not in into:
                into[transition.target] = []
                queue.append(transition.target)
            into[transition.target].append((state, transition))

    values = dict.fromkeys(into, 0.0)
    best: dict[State, Transition] = {}
    heap = [(-1.0, state) for state in into if state.cell == states.plan.goal]
    values.update((state, 1.0) for _, state in heap)
    done: set[State] = set()
    while heap:
        _, state = heapq.heappop(heap)
        if state in done:
            continue
        done.add(state)
        for source, transition in into[state]:
            value = factor(transition, discount) * values[state]
            if value > values[source]:
                values[source] = value
                best[source] = transition
                heapq.heappush(heap, (-value, source))
    return Solution(states, values, best)


def shortest_walk_values(plan: FloorPlan, rule: Rule = NETHACK, discount: float = DISCOUNT) -> np.ndarray:
    """[21, 79]: γ^k, with k the fewest steps from a position to the goal if doors open by themselves.

    This is how the paper describes its value maps. It ignores keys and actions other than moves.
    """
    ways = neighbours(plan.terrain, rule)
    distances: dict[Cell, int] = {plan.goal: 0}
    queue = deque([plan.goal])
    while queue:
        cell = queue.popleft()
        for other in ways[cell]:  # moves are reversible, so paths from the goal are paths to it
            if other not in distances:
                distances[other] = distances[cell] + 1
                queue.append(other)
    values = np.zeros((ROWS, COLUMNS))
    for cell, distance in distances.items():
        values[cell] = discount**distance
    return values

"""Play the game by V*: read the state from the observation and take the best action."""

from __future__ import annotations

from typing import Final

import numpy as np

from bonuslab.envs.minihack import Task
from bonuslab.envs.minihack import glyphs as g
from bonuslab.envs.minihack.known_map import NEIGHBOURS, Cell
from bonuslab.envs.minihack.render import agent_cell
from bonuslab.experiments.value_functions.floor_plan import ObstacleKind
from bonuslab.experiments.value_functions.game_states import GameStates, State
from bonuslab.experiments.value_functions.movement import DEADLY
from bonuslab.experiments.value_functions.optimal_values import Solution

Observation = dict[str, np.ndarray]
_OPEN: Final = frozenset((g.DOORWAY, *g.OPEN_DOORS))
_FREE: Final[dict[ObstacleKind, frozenset[int]]] = {
    "closed": _OPEN,
    "locked": _OPEN,
    "hidden": _OPEN | {*g.CLOSED_DOORS, *g.FLOORS},  # found, though a door may still have to be opened
}
"""Map symbols of an obstacle's cell after its removal."""
_QUESTION: Final = b"In what direction"


class StateReader:
    """Tracks the state of a game on a known plan; call `reset` before each episode."""

    def __init__(self, states: GameStates) -> None:
        self._obstacles = states.plan.obstacles
        self.reset()

    def reset(self) -> None:
        """Forget the episode."""
        self._removed = 0
        self._has_key = False
        self._left = dict(enumerate(self._obstacles))

    def read(self, observation: Observation) -> State:
        """The current state, given this observation and the ones before it."""
        cell = agent_cell(observation["blstats"])
        message = observation["message"].tobytes()
        self._has_key = self._has_key or (b" - " in message and b" key" in message)
        glyphs = observation["glyphs"]
        for number, obstacle in list(self._left.items()):
            symbol = int(glyphs[obstacle.cell]) - g.STONE
            if symbol in _FREE[obstacle.kind] or obstacle.cell == cell:
                self._removed |= 1 << number
                del self._left[number]
        return State(cell, self._removed, self._has_key)


class ValueFollower:
    """Takes the best action of a solution in every state; call `reset` before each episode."""

    def __init__(self, solution: Solution, task: Task) -> None:
        self.reader = StateReader(solution.states)
        self._solution = solution
        self._index = {int(key): number for number, key in enumerate(task.actions)}
        self._pending: tuple[int, ...] = ()

    def reset(self) -> None:
        """Forget the episode."""
        self.reader.reset()
        self._pending = ()

    def act(self, observation: Observation) -> int:
        """The next action."""
        return self.act_in(self.reader.read(observation), observation)

    def act_in(self, state: State, observation: Observation) -> int:
        """The next action in a known state."""
        if self._pending and is_question(observation):
            key, *rest = self._pending
        else:
            transition = self._solution.best.get(state)
            key, *rest = transition.keys if transition is not None else (next(iter(self._index)),)
        self._pending = tuple(rest)
        return self._index[key]


def is_question(observation: Observation) -> bool:
    """Whether the game is waiting for a direction."""
    return _QUESTION in observation["message"].tobytes()


def deadly_steps(terrain: np.ndarray, cell: Cell) -> set[int]:
    """The moves (0 to 7) that lead from a cell into lava or water."""
    return {
        number
        for number, (dy, dx) in enumerate(NEIGHBOURS)
        if 0 <= cell[0] + dy < terrain.shape[0]
        and 0 <= cell[1] + dx < terrain.shape[1]
        and terrain[cell[0] + dy, cell[1] + dx] in DEADLY
    }

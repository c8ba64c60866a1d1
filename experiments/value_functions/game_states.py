"""The game's states on a floor plan as far as winning depends on them: position, removed obstacles, key."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from nle.nethack import Command

from bonuslab.envs.minihack import Task
from bonuslab.envs.minihack import glyphs as g
from bonuslab.envs.minihack.explorer import KEYS
from bonuslab.envs.minihack.known_map import NEIGHBOURS, Cell
from bonuslab.experiments.value_functions.floor_plan import FloorPlan, Obstacle
from bonuslab.experiments.value_functions.movement import NETHACK, neighbours

# NetHack compares a random number below 20 (push) or 35 (kick) with the mean of strength, dexterity and constitution,
# 14.8 on average over 1,000 contexts of our rogue. A search finds a hidden door with probability 1/7.
PUSH_OPENS: Final = 14.8 / 20
KICK_BREAKS: Final = 14.8 / 35
SEARCH_FINDS: Final = 1 / 7


class State(NamedTuple):
    """One state."""

    cell: Cell
    removed: int = 0
    """Bit i: whether obstacle i of the plan has been removed."""
    has_key: bool = False


class Transition(NamedTuple):
    """What can be done in a state. If it fails, the state does not change."""

    keys: tuple[int, ...]
    """Keys to press, one per action."""
    target: State
    chance: float = 1.0


class GameStates:
    """The states of a plan and their transitions under a task's actions."""

    def __init__(self, plan: FloorPlan, task: Task) -> None:
        self.plan = plan
        self.start = State(plan.start)
        self._actions = frozenset(task.actions)
        self._uses_key = task.applies_key
        self._by_cell: dict[Cell, list[tuple[int, Obstacle]]] = {}
        for number, obstacle in enumerate(plan.obstacles):
            self._by_cell.setdefault(obstacle.cell, []).append((number, obstacle))
        # Doorways whose door was kicked in may be crossed diagonally.
        self._broken = sum(1 << i for i, item in enumerate(plan.obstacles) if item.kind == "locked" and self._kicks)
        self._ways = lru_cache(maxsize=None)(self._ways_with_broken)

    @property
    def _kicks(self) -> bool:
        return Command.KICK in self._actions and not self._uses_key

    def transitions(self, state: State) -> Iterator[Transition]:
        """All transitions from a state; none from the goal."""
        cell, removed, has_key = state
        if cell == self.plan.goal:
            return
        for other in self._ways(removed & self._broken).get(cell, ()):
            if self.is_free(other, removed):
                yield Transition((_towards(cell, other),), State(other, removed, has_key))
        if cell == self.plan.key and not has_key:
            yield Transition((int(Command.PICKUP),), State(cell, removed, True))
        for dy, dx in NEIGHBOURS:
            other = (cell[0] + dy, cell[1] + dx)
            if other in self._by_cell:
                yield from self._removals(state, other)

    def is_free(self, cell: Cell, removed: int) -> bool:
        """Whether a cell has no obstacle left."""
        return all(removed >> number & 1 for number, _ in self._by_cell.get(cell, ()))

    def terrain(self, removed: int) -> np.ndarray:
        """[21, 79]: the map after these obstacles are removed."""
        terrain = self.plan.terrain.copy()
        for cell in self._by_cell:
            if terrain[cell] in g.CLOSED_DOORS and self.is_free(cell, removed):
                broken = any(removed & self._broken & 1 << number for number, _ in self._by_cell[cell])
                terrain[cell] = g.DOORWAY if broken else g.OPEN_DOORS[0]
        return terrain

    def _removals(self, state: State, cell: Cell) -> Iterator[Transition]:
        """Transitions that remove the first remaining obstacle of a neighbouring cell."""
        left = [item for item in self._by_cell[cell] if not state.removed >> item[0] & 1]
        if not left:
            return
        number, obstacle = left[0]
        target = State(state.cell, state.removed | 1 << number, state.has_key)
        direction = _towards(state.cell, cell)
        if obstacle.kind == "closed":
            yield Transition((direction,), target, PUSH_OPENS)
        elif obstacle.kind == "hidden" and Command.SEARCH in self._actions:
            yield Transition((int(Command.SEARCH),), target, SEARCH_FINDS)
        elif obstacle.kind == "locked" and self._uses_key and state.has_key:
            yield Transition((int(Command.APPLY),), target)  # applies until the door is open
        elif obstacle.kind == "locked" and self._kicks:
            yield Transition((int(Command.KICK), direction), target, KICK_BREAKS)

    def _ways_with_broken(self, broken: int) -> dict[Cell, list[Cell]]:
        """Cell -> neighbours with these doors broken, other obstacles ignored."""
        terrain = self.plan.terrain
        if broken:
            terrain = terrain.copy()
            for number, obstacle in enumerate(self.plan.obstacles):
                if broken >> number & 1:
                    terrain[obstacle.cell] = g.DOORWAY
        return neighbours(terrain, NETHACK)


def _towards(cell: Cell, other: Cell) -> int:
    """The key that moves from a cell to its neighbour."""
    return KEYS[other[0] - cell[0], other[1] - cell[1]]

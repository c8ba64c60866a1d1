"""Plans of levels that the game generates itself: a scripted agent explores them without taking the stairs."""

from __future__ import annotations

from typing import Final

import numpy as np
from nle.nethack import Command

from bonuslab.envs.minihack import MiniHackEnv, Task
from bonuslab.envs.minihack import glyphs as g
from bonuslab.envs.minihack.explorer import KEYS, Explorer
from bonuslab.envs.minihack.known_map import DOORS, Cell
from bonuslab.envs.minihack.render import agent_cell
from bonuslab.experiments.value_functions.floor_plan import FloorPlan, Obstacle, plan_of_level

MOST_SEARCHES: Final = 90
"""Searches for hidden doors before giving up on finding the stairs."""
_KEY: Final = "("


class Surveyor(Explorer):
    """Explores the whole level without taking the stairs, and records obstacles."""

    def reset(self) -> None:
        """Forget the episode."""
        super().reset()
        self.is_done = False
        self.doors: dict[Cell, int] = {}
        """Doors with their symbol when first seen."""
        self.hidden: list[Cell] = []
        """Cells revealed by a search."""
        self.key: Cell | None = None
        self._searched = False
        self._num_searches = 0
        self._walk: list[Cell] = []

    def act(self, observation: dict[str, np.ndarray]) -> int:
        """The next action; meaningless once `is_done`."""
        before = self.map.terrain.copy()
        action = super().act(observation)
        self._note_changes(before, agent_cell(observation["blstats"]))
        self._searched = action == self._index.get(int(Command.SEARCH))
        self._num_searches += self._searched
        return action

    @property
    def gives_up(self) -> bool:
        """Whether it has reached `MOST_SEARCHES`."""
        return self._num_searches >= MOST_SEARCHES

    @property
    def goal(self) -> Cell | None:
        """The stairs down, once seen."""
        found = np.argwhere(self.map.terrain == g.STAIRS_DOWN)
        return (int(found[0][0]), int(found[0][1])) if len(found) else None

    @property
    def locked(self) -> set[Cell]:
        """Doors that turned out to be locked."""
        return self._locked

    def _note_changes(self, before: np.ndarray, here: Cell) -> None:
        terrain = self.map.terrain
        for y, x in np.argwhere(terrain != before):
            cell = (int(y), int(x))
            if terrain[cell] in DOORS:
                self.doors.setdefault(cell, int(terrain[cell]))
            is_beside = max(abs(cell[0] - here[0]), abs(cell[1] - here[1])) == 1
            if self._searched and is_beside and self.map.is_floor(cell):
                self.hidden.append(cell)
        if self.key is None:
            self.key = next((cell for cell, character in self.map.objects.items() if character == _KEY), None)

    def _is_stairs(self, cell: Cell) -> bool:
        return False

    def _decide(self, here: Cell) -> int:
        # Finding a path takes far longer than a game step, so walk each path to its end.
        if self._walk and here == self._walk[0]:
            self._walk.pop(0)
        if not self._wanted(here):
            if not self._can_walk_on(here):
                self._walk = self._next_walk(here)
            if self._walk:
                return self._go(here, self._walk[0])
            self.is_done = self.goal is not None
        return super()._decide(here)

    def _can_walk_on(self, here: Cell) -> bool:
        if not self._walk:
            return False
        first, last = self._walk[0], self._walk[-1]
        is_step = (first[0] - here[0], first[1] - here[1]) in KEYS and (here, first) not in self.map.failures
        return is_step and first not in self.map.barred and (self._wanted(last) or self.map.is_edge(last))

    def _next_walk(self, here: Cell) -> list[Cell]:
        if self.goal is not None:
            self.map.barred.add(self.goal)
        return self.map.path(here, self._wanted, self.map.is_edge)


def find_plan(env: MiniHackEnv, context: int) -> FloorPlan | None:
    """The plan of a context's level, surveyed if the map is not known; None if that fails."""
    level = env.task.levels.build(context)
    return survey(env, context) if level.map is None else plan_of_level(level)


def survey(env: MiniHackEnv, context: int) -> FloorPlan | None:
    """The plan of a context's level; None if the surveyor dies or does not find the stairs in time."""
    observation, _ = env.reset(options={"context": context})
    start = agent_cell(observation["blstats"])
    surveyor = Surveyor(env.task.actions)
    for _ in range(env.max_steps):
        action = surveyor.act(observation)
        if surveyor.is_done:
            return _plan(surveyor, start, env.task)
        observation, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated or surveyor.gives_up:
            break
    return None


def _plan(surveyor: Surveyor, start: Cell, task: Task) -> FloorPlan:
    terrain, goal = surveyor.map.terrain.copy(), surveyor.goal
    assert goal is not None
    obstacles = [Obstacle(cell, "hidden") for cell in surveyor.hidden]
    for cell, symbol in surveyor.doors.items():
        terrain[cell] = symbol
        if symbol in g.CLOSED_DOORS:
            # With a key, the surveyor unlocks doors before the game can report that they are locked.
            is_locked = task.applies_key or cell in surveyor.locked
            obstacles.append(Obstacle(cell, "locked" if is_locked else "closed"))
    return FloorPlan(terrain, start, goal, tuple(obstacles), surveyor.key if task.applies_key else None)

"""The plan of a level: its terrain in NetHack's own coordinates, and what stands between start and goal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from bonuslab.envs.minihack import glyphs as g
from bonuslab.envs.minihack.known_map import FLOOR, Cell
from bonuslab.envs.minihack.levels import Level

ROWS: Final = 21
COLUMNS: Final = 79
ROCK: Final = 0
WALL: Final = g.WALLS[0]
CLOSED_DOOR: Final = g.CLOSED_DOORS[0]
OPEN_DOOR: Final = g.OPEN_DOORS[0]

_SYMBOLS: Final = {" ": ROCK, "|": WALL, "-": WALL, ".": FLOOR, "L": g.LAVA, "+": CLOSED_DOOR}
# NetHack's mazes end here (x_maze_max and y_maze_max), which is where it takes the centre of a map from.
_MAZE_COLUMNS, _MAZE_ROWS = 78, 20

ObstacleKind = Literal["closed", "locked", "hidden"]


@dataclass(frozen=True)
class Obstacle:
    """Something that must be removed before its cell can be entered."""

    cell: Cell
    kind: ObstacleKind
    """A closed door is pushed open, a locked one kicked or unlocked, a hidden door or passage searched for."""


@dataclass(frozen=True)
class FloorPlan:
    """One level. Cells are (row, column) as agents see them."""

    terrain: np.ndarray
    """[21, 79] int16: NetHack's map symbols (see `glyphs`), doors as they are at the start."""
    start: Cell
    goal: Cell
    obstacles: tuple[Obstacle, ...] = ()
    """In the order in which they must be removed where two share a cell."""
    key: Cell | None = None
    """Where the key lies that opens locked doors."""


def plan_of_level(level: Level) -> FloorPlan:
    """The plan of a level whose map is known before the game is started."""
    if level.map is None or level.start is None or level.goal is None:
        raise ValueError("the game draws this level itself: survey it")
    top, left = placement(len(level.map), len(level.map[0]))
    terrain = np.full((ROWS, COLUMNS), ROCK, np.int16)
    for row, text in enumerate(level.map):
        terrain[top + row, left : left + len(text)] = [_SYMBOLS[character] for character in text]
    doors = [(top + row, left + column) for column, row in level.doors]
    for cell in doors:
        terrain[cell] = OPEN_DOOR if level.door_state == "open" else CLOSED_DOOR
    start, goal = ((top + row, left + column) for column, row in (level.start, level.goal))
    terrain[goal] = g.STAIRS_DOWN
    kinds: dict[str, ObstacleKind] = {"closed": "closed", "locked": "locked"}
    kind = kinds.get(level.door_state)
    return FloorPlan(terrain, start, goal, tuple(Obstacle(cell, kind) for cell in doors) if kind else ())


def placement(rows: int, columns: int) -> Cell:
    """(row, column) of the upper left corner of a centred map, as the game places it and agents see it."""
    left = 2 + (_MAZE_COLUMNS - 2 - columns) // 2
    top = 2 + (_MAZE_ROWS - 2 - rows) // 2
    left, top = left | 1, top | 1  # the game moves an even corner by one
    if top + rows > ROWS:
        top = 0
    return top, left - 1  # the game counts columns from 1

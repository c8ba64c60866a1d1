"""The plan of a level: terrain in NetHack's coordinates, start, goal and obstacles."""

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
# x_maze_max and y_maze_max, by which NetHack centres a map.
_MAZE_COLUMNS, _MAZE_ROWS = 78, 20

ObstacleKind = Literal["closed", "locked", "hidden"]


@dataclass(frozen=True)
class Obstacle:
    """Must be removed before its cell can be entered."""

    cell: Cell
    kind: ObstacleKind
    """Closed doors are pushed open, locked ones kicked in or unlocked, hidden doors and passages searched for."""


@dataclass(frozen=True)
class FloorPlan:
    """One level. Cells are (row, column) as in observations."""

    terrain: np.ndarray
    """[21, 79] int16: NetHack's map symbols (see `glyphs`), with doors in their initial state."""
    start: Cell
    goal: Cell
    obstacles: tuple[Obstacle, ...] = ()
    """Two on the same cell are in the order in which they must be removed."""
    key: Cell | None = None
    """Where the key to locked doors lies."""


def plan_of_level(level: Level) -> FloorPlan:
    """The plan of a level whose map is known before the game starts."""
    if level.map is None or level.start is None or level.goal is None:
        raise ValueError("the map of this level is not known in advance; use `survey`")
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
    """(row, column) of the upper left corner of a map that the game centres, as in observations."""
    left = 2 + (_MAZE_COLUMNS - 2 - columns) // 2
    top = 2 + (_MAZE_ROWS - 2 - rows) // 2
    left, top = left | 1, top | 1  # the game moves an even corner by one
    if top + rows > ROWS:
        top = 0
    return top, left - 1  # the game counts columns from 1

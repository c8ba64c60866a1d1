"""MultiRoom: a chain of rooms connected by doors, with the goal in the last one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.envs.minihack.levels.bytecode import DOOR_STATES, map_level
from bonuslab.envs.minihack.levels.level import Level
from bonuslab.envs.minihack.randomness import Purpose, context_seed

SIDE = 25
"""Rows and columns of the minigrid grid that the authors used."""
TALLEST_MAP = 21
"""NetHack's number of rows; lev_comp rejects taller maps."""
MAX_CHAINS = 20_000_000
"""Attempts before giving up on a chain: about ten seconds."""


@dataclass(frozen=True)
class MultiRoom:
    """Maps of minigrid's MultiRoomEnv on a 25 x 25 grid, conditioned on fitting NetHack's 21 rows."""

    rooms: int
    room_size: int
    """Maximum columns and rows of a room, including walls; the minimum is 4."""
    lava: bool = False
    """Lava instead of stone walls."""
    doors: Literal["closed", "open", "locked"] = "closed"
    monsters: int = 0
    """Number of monsters; the game chooses their kinds and places."""

    def __post_init__(self) -> None:
        if not 1 <= self.rooms <= 20:
            raise InvalidInput(f"a MultiRoom level of {self.rooms} rooms; allowed: 1 to 20")
        if not 4 <= self.room_size <= TALLEST_MAP:
            raise InvalidInput(f"MultiRoom room size {self.room_size}; allowed: 4 to {TALLEST_MAP}")
        if self.doors not in DOOR_STATES:
            raise unknown("door state", self.doors, DOOR_STATES)
        if not 0 <= self.monsters <= 100:
            raise InvalidInput(f"a MultiRoom level with {self.monsters} monsters; allowed: 0 to 100")

    def build(self, context: int) -> Level:
        """The level of `context`. Levels that differ only in lava, doors or monsters share their rooms."""
        # Importing numba takes half a second; only commands that build a level should pay for it.
        from bonuslab.envs.minihack.levels.chain import random_map

        rooms = np.empty((self.rooms, 6), np.int64)
        cells = np.empty((SIDE, SIDE), np.uint8)
        places = np.empty((self.rooms + 1, 2), np.int64)
        seed = np.uint64(context_seed(context, Purpose.LEVEL))
        wall = ord("L" if self.lava else "|")
        top, bottom = random_map(seed, self.room_size, wall, TALLEST_MAP, MAX_CHAINS, rooms, cells, places)
        if bottom == 0:
            raise InvalidInput(
                f"no chain of {self.rooms} rooms of size up to {self.room_size} was found for context {context}; "
                "use fewer or smaller rooms"
            )
        used = cells[top:bottom].tobytes()
        start, goal, *doors = map(tuple, places.tolist())
        lev = map_level(used, SIDE, start, goal, doors, self.doors, self.monsters)
        text = used.decode("ascii")
        rows = tuple(text[first : first + SIDE] for first in range(0, len(text), SIDE))
        return Level(lev, rows, start, goal, tuple(doors), self.doors)

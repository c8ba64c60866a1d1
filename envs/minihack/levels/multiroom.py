"""MultiRoom: a chain of rooms joined by doors, from the first room to the goal in the last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.envs.minihack.levels.bytecode import DOOR_STATES, map_level
from bonuslab.envs.minihack.levels.level import Level
from bonuslab.envs.minihack.randomness import Purpose, context_seed

SIDE = 25
"""Rows and columns of the minigrid in which the authors placed the rooms."""
TALLEST_MAP = 21
"""NetHack has no more rows; lev_comp refuses a taller map."""
MAX_CHAINS = 20_000_000
"""Chains to try before saying that so many rooms do not fit: about ten seconds."""


@dataclass(frozen=True)
class MultiRoom:
    """Maps of minigrid's MultiRoomEnv in a grid of 25 x 25, given that they fit in NetHack's 21 rows."""

    rooms: int
    room_size: int
    """Largest number of columns and of rows of a room, its walls included; the smallest is 4."""
    lava: bool = False
    """Walls of lava in place of stone."""
    doors: Literal["closed", "open", "locked"] = "closed"
    monsters: int = 0
    """Monsters of random kind at random places, chosen by the game."""

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
        """The level of `context`. Levels that differ only in lava, doors or monsters have the same rooms."""
        # numba takes half a second to import, which commands that build no level should not wait for.
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
                "take fewer or smaller rooms"
            )
        used = cells[top:bottom].tobytes()
        start, goal, *doors = map(tuple, places.tolist())
        lev = map_level(used, SIDE, start, goal, doors, self.doors, self.monsters)
        text = used.decode("ascii")
        rows = tuple(text[first : first + SIDE] for first in range(0, len(text), SIDE))
        return Level(lev, rows, start, goal, tuple(doors), self.doors)

"""What the memory of some games shows beyond the screen: the room, the position in it and the level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np


@dataclass(frozen=True)
class MemoryMap:
    """Addresses in the console's 128 bytes of memory."""

    room: int
    x: int
    """Within the room, in the game's own units."""
    y: int
    """Points up."""
    level: int
    """From 0."""
    num_rooms: int
    """Per level, numbered alike on every level; a larger number is no room."""

    def position(self, memory: np.ndarray) -> tuple[int, int]:
        """x and y within the room."""
        return int(memory[self.x]), int(memory[self.y])


MONTEZUMA: Final = "montezuma_revenge"
MEMORY_MAPS: Final = {MONTEZUMA: MemoryMap(room=3, x=42, y=43, level=57, num_rooms=24)}
"""By ROM. Only these games have the observations `room` and `position` and the metrics `rooms` and `level`."""

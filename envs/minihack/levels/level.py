"""What a level is, and what makes one from a context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

Cell = tuple[int, int]
"""(column, row) in the MAP block, both from 0."""


@dataclass(frozen=True, slots=True)
class Level:
    """A compiled level, with what is known of its map."""

    lev: bytes
    """Content of mylevel.lev, the file the game reads."""
    map: tuple[str, ...] | None = None
    """Rows of the MAP block where the level is one fixed map, else None (the game draws the level itself)."""
    start: Cell | None = None
    goal: Cell | None = None
    doors: tuple[Cell, ...] = ()
    door_state: str = "closed"


class LevelSource(Protocol):
    """Makes the level of a context. Sources are frozen dataclasses: hashable and picklable."""

    def build(self, context: int) -> Level:
        """The level of `context`: the same bytes in any process and on any machine."""
        ...

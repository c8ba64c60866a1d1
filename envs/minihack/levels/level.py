"""Levels, and the interface of what builds them from contexts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

Cell = tuple[int, int]
"""(column, row) in the MAP block, both from 0."""


@dataclass(frozen=True, slots=True)
class Level:
    """A compiled level and what is known about its map."""

    lev: bytes
    """Content of mylevel.lev, which the game reads."""
    map: tuple[str, ...] | None = None
    """Rows of the MAP block, or None if the game generates the map itself."""
    start: Cell | None = None
    goal: Cell | None = None
    doors: tuple[Cell, ...] = ()
    door_state: str = "closed"


class LevelSource(Protocol):
    """Builds the level of a context. Sources are frozen dataclasses: hashable and picklable."""

    def build(self, context: int) -> Level:
        """The level of `context`: the same bytes in every process and on every machine."""
        ...

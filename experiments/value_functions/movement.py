"""NetHack's movement rules in terms of map symbols.

A step leads to one of eight neighbours. Rock and walls block it; a step at a closed door opens it without entering. An
intact door, open or closed, cannot be entered or left diagonally; a doorway without a door, or with a broken one, can.
An agent with a light load squeezes diagonally between two corners of rock. Lava and water kill.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np

from bonuslab.envs.minihack import glyphs as g
from bonuslab.envs.minihack.known_map import DOORS, NEIGHBOURS, Cell

DEADLY: Final = frozenset((g.LAVA, *g.WATER))


class Outcome(Enum):
    """The result of a step."""

    MOVES = "moves"
    PUSHES = "pushes a closed door"
    STAYS = "stays"
    DIES = "dies"


@dataclass(frozen=True)
class Rule:
    """Movement rules. NetHack's are the default; the others show how much results depend on them."""

    name: str
    steps: Sequence[Cell] = NEIGHBOURS
    diagonal_doors: bool = False


NETHACK: Final = Rule("NetHack's: eight moves, intact doors never diagonally")
DIAGONAL_DOORS: Final = Rule("eight moves, doors diagonally too", diagonal_doors=True)
FOUR_MOVES: Final = Rule("four moves", steps=NEIGHBOURS[:4])
RULES: Final = (NETHACK, DIAGONAL_DOORS, FOUR_MOVES)


def outcome(terrain: np.ndarray, cell: Cell, step: Cell) -> Outcome:
    """The result of a step on the current terrain, without monsters and boulders."""
    row, column = cell[0] + step[0], cell[1] + step[1]
    if not (0 <= row < terrain.shape[0] and 0 <= column < terrain.shape[1]):
        return Outcome.STAYS
    here, there = int(terrain[cell]), int(terrain[row, column])
    if there in g.CLOSED_DOORS:
        return Outcome.PUSHES  # diagonally too
    if _is_barred(here, there, step, diagonal_doors=False):
        return Outcome.STAYS
    if there in DEADLY:
        return Outcome.DIES
    return Outcome.MOVES if there in g.PASSABLE else Outcome.STAYS


def neighbours(terrain: np.ndarray, rule: Rule = NETHACK) -> dict[Cell, list[Cell]]:
    """Cell -> cells one step away, with all doors open."""
    rows = terrain.tolist()
    floor = {
        (row, column): symbol
        for row, symbols in enumerate(rows)
        for column, symbol in enumerate(symbols)
        if symbol in g.PASSABLE
    }
    found: dict[Cell, list[Cell]] = {}
    for cell, here in floor.items():
        found[cell] = [
            other
            for step in rule.steps
            if (other := (cell[0] + step[0], cell[1] + step[1])) in floor
            and not _is_barred(here, floor[other], step, rule.diagonal_doors)
        ]
    return found


def _is_barred(here: int, there: int, step: Cell, diagonal_doors: bool) -> bool:
    """Whether an intact door forbids this diagonal step."""
    return bool(step[0] and step[1]) and not diagonal_doors and (here in DOORS or there in DOORS)

"""What an agent has seen of a level, and paths through it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from bonuslab.envs.minihack import glyphs as g

Cell = tuple[int, int]
"""(row, column)."""

UNKNOWN, FLOOR = 0, g.FLOORS[0]
DOORS = frozenset((*g.OPEN_DOORS, *g.CLOSED_DOORS))
NEIGHBOURS: tuple[Cell, ...] = ((-1, 0), (0, 1), (1, 0), (0, -1), (-1, 1), (1, 1), (1, -1), (-1, -1))
"""(rows, columns) to move: N, E, S, W, NE, SE, SW, NW, in the order of NLE's compass directions."""
PATIENCE = 3
"""A step that fails this often with no monster in the way is given up."""
RAY_LENGTH = 6
"""Cells that a ray always reaches."""


class Ray(NamedTuple):
    """What a ray in some direction hits."""

    monster: bool
    lava: bool
    oblique: bool
    """Whether the wall deflects it; head-on, or in a corner, it bounces back at the sender."""


class KnownMap:
    """What has been seen of a level, with path search."""

    def __init__(self, rows: int = 21, columns: int = 79) -> None:
        self.terrain = np.full((rows, columns), UNKNOWN, np.int16)
        """Index of the map symbol last seen in each cell."""
        self.visited = np.zeros((rows, columns), bool)
        self.objects: dict[Cell, str] = {}
        """Cell -> character of the object on it."""
        self.monsters: set[Cell] = set()
        self.barred: set[Cell] = set()
        """Locked doors that the agent cannot open."""
        self.failures: dict[tuple[Cell, Cell], int] = {}

    def look(self, glyphs: np.ndarray, here: Cell) -> None:
        """Update the map with one observation."""
        monsters, objects = g.monster_glyphs()[glyphs], g.object_glyphs()[glyphs]
        symbols = glyphs - g.STONE
        plain = (symbols >= 0) & (symbols <= max(g.TRAPS))
        self.terrain[plain] = symbols[plain]
        self.terrain[objects | (monsters & (self.terrain == UNKNOWN))] = FLOOR
        self.visited[here] = True
        self.monsters = {(int(y), int(x)) for y, x in np.argwhere(monsters)} - {here}
        characters, _ = g.symbols()
        under_agent = {here: self.objects[here]} if here in self.objects else {}  # hidden by the agent
        self.objects = {(int(y), int(x)): chr(characters[glyphs[y, x]]) for y, x in np.argwhere(objects)} | under_agent

    def path(self, start: Cell, *goals: Callable[[Cell], bool], through_traps: bool = False) -> list[Cell]:
        """Shortest path, without `start`, to the nearest cell that meets the first goal that any cell meets."""
        came_from: dict[Cell, Cell] = {start: start}  # ordered by distance
        queue = deque([start])
        while queue:
            cell = queue.popleft()
            for neighbour in self.reach(cell, through_traps):
                if neighbour not in came_from:
                    came_from[neighbour] = cell
                    queue.append(neighbour)
        del came_from[start]
        for goal in goals:
            target = next((cell for cell in came_from if goal(cell)), None)
            if target is not None:
                walk = [target]
                while (cell := came_from[walk[-1]]) != start:
                    walk.append(cell)
                return walk[::-1]
        return []

    def is_floor(self, cell: Cell) -> bool:
        """Whether the cell is known to be walkable."""
        return self._symbol(cell) in g.PASSABLE

    def ray(self, start: Cell, step: Cell) -> Ray:
        """What a ray would hit."""
        (y, x), (dy, dx) = start, step
        monster = lava = False
        while self.is_floor((y + dy, x + dx)) or self._is_lava((y + dy, x + dx)):
            y, x = y + dy, x + dx
            distance = max(abs(y - start[0]), abs(x - start[1]))
            monster = monster or ((y, x) in self.monsters and distance <= RAY_LENGTH)
            lava = lava or self._is_lava((y, x))
        oblique = bool(dy and dx) and self.is_floor((y + dy, x)) != self.is_floor((y, x + dx))
        return Ray(monster, lava, oblique)

    def _is_lava(self, cell: Cell) -> bool:
        return self._symbol(cell) == g.LAVA

    def _symbol(self, cell: Cell) -> int:
        rows, columns = self.terrain.shape
        return int(self.terrain[cell]) if 0 <= cell[0] < rows and 0 <= cell[1] < columns else UNKNOWN

    def is_edge(self, cell: Cell) -> bool:
        """Whether an agent there would see unknown cells."""
        if self.visited[cell]:
            return False
        straight = self.terrain[cell] in DOORS
        return any(self.terrain[other] == UNKNOWN for other in self._neighbours(cell, straight))

    def reach(self, cell: Cell, through_traps: bool = False) -> Iterator[Cell]:
        """Cells one step away; doors cannot be entered or left diagonally."""
        in_door = self.terrain[cell] in DOORS
        for other in self._neighbours(cell, in_door):
            symbol = self.terrain[other]
            diagonal = other[0] != cell[0] and other[1] != cell[1]
            if other in self.barred or self.failures.get((cell, other), 0) >= PATIENCE:
                continue
            walkable = symbol in g.PASSABLE or (through_traps and symbol in g.TRAPS)
            if walkable and not (diagonal and symbol in DOORS):
                yield other

    def _neighbours(self, cell: Cell, straight: bool) -> Iterator[Cell]:
        rows, columns = self.terrain.shape
        for dy, dx in NEIGHBOURS:
            y, x = cell[0] + dy, cell[1] + dx
            if 0 <= y < rows and 0 <= x < columns and not (straight and dy and dx):
                yield y, x

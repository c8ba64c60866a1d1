"""Finds free spots for furniture in one room."""

from __future__ import annotations

import math
from random import Random

from bonuslab.envs.habitat.apartments.plan import ApartmentPlan, Rectangle
from bonuslab.envs.habitat.apartments.solids import Place, Solids
from bonuslab.envs.habitat.apartments.walls import HALF_WALL, Doorways, place_on, strip_before

_TRIES = 14
_AISLE = 0.4
"""Metres kept free around furniture in the middle of a room."""


class RoomFloor:
    """The floor of one room and what already stands on it."""

    def __init__(self, solids: Solids, plan: ApartmentPlan, number: int, doorways: Doorways, rng: Random) -> None:
        self.solids, self.rng = solids, rng
        self.kind = plan.kinds[number]
        self.inner = plan.rooms[number].grown(-HALF_WALL)
        self._number, self._walls = number, plan.walls_of(number)
        self._zones, self._taken = doorways.zones[number], [*doorways.leaves[number]]

    def against_wall(self, width: float, depth: float, front: float, tall: bool) -> Place | None:
        """A random spot along a wall with `front` metres free in front of it; None if there is none.

        `tall` furniture is not placed in front of a window.
        """
        weights = [max(wall.high - wall.low - width, 0.0) for wall in self._walls]
        if not any(weights):
            return None
        for _ in range(_TRIES):
            wall = self.rng.choices(self._walls, weights)[0]
            low = max(wall.low, self.inner.low(wall.axis)) + 0.01
            high = min(wall.high, self.inner.high(wall.axis)) - 0.01
            if high - low < width:
                continue
            share = self.rng.choice((0.0, 0.5, 1.0, self.rng.random()))
            start = low + share * (high - low - width)
            end = start + width
            if tall and any(start < each.high + 0.08 and each.low - 0.08 < end for each in wall.openings):
                continue
            ground, whole = (strip_before(wall, self._number, start, end, depth + extra) for extra in (0.0, front))
            if self._is_free(ground) and self._inside(whole) and not any(map(whole.overlaps, self._taken)):
                self._taken.append(ground)
                return place_on(self.solids, wall, self._number, (start + end) / 2)
        return None

    def in_the_open(self, width: float, depth: float) -> Place | None:
        """A random spot away from the walls; None if there is none."""
        room = self.inner.grown(-_AISLE)
        for _ in range(_TRIES):
            turned = self.rng.random() < 0.5
            w, d = (depth, width) if turned else (width, depth)
            if room.width < w or room.depth < d:
                continue
            x, z = room.x0 + self.rng.random() * (room.width - w), room.z0 + self.rng.random() * (room.depth - d)
            ground = Rectangle(x, z, x + w, z + d)
            if self._is_free(ground.grown(_AISLE)):
                self._taken.append(ground)
                return Place(self.solids, *ground.centre, math.pi / 2 if turned else 0.0)
        return None

    def _is_free(self, ground: Rectangle) -> bool:
        return not any(ground.overlaps(other) for other in (*self._taken, *self._zones))

    def _inside(self, ground: Rectangle) -> bool:
        room = self.inner.grown(HALF_WALL + 0.02)
        return room.x0 <= ground.x0 and room.z0 <= ground.z0 and ground.x1 <= room.x1 and ground.z1 <= room.z1

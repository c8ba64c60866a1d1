"""Finds free spots for furniture in one room."""

from __future__ import annotations

import math
from random import Random

from bonuslab.envs.habitat.apartments.plan import Axis, Plan, Rectangle, Wall
from bonuslab.envs.habitat.apartments.solids import Place, Solids
from bonuslab.envs.habitat.apartments.walls import HALF_WALL, Shell, place_on, strip_before

_TRIES = 14
_AISLE = 0.5
"""Metres kept free around what stands in the room."""


class RoomFloor:
    """The floor of one room and what already stands on it."""

    def __init__(self, solids: Solids, plan: Plan, number: int, shell: Shell, rng: Random) -> None:
        self.solids, self.rng, self.number = solids, rng, number
        self.ceiling = plan.ceiling
        self.kind = plan.kinds[number]
        self.inner = plan.rooms[number].grown(-HALF_WALL)
        self.walls = plan.walls_of(number)
        self.taken: list[Rectangle] = [*shell.leaves[number]]
        self._zones = shell.zones[number]
        self._hung: list[tuple[Wall, float, float]] = []

    def middle(self) -> Place:
        """The middle of the room."""
        return Place(self.solids, *self.inner.centre)

    def against_wall(
        self, width: float, depth: float, *, tall: bool = False, before: float = 0.0, wall: Wall | None = None
    ) -> Place | None:
        """A spot at a wall for something so wide and deep, with `before` metres free before it; None if there is none.

        What is `tall` does not stand before a window.
        """
        walls = [wall] if wall else self.walls
        weights = [max(each.high - each.low - width, 0.0) for each in walls]
        if not any(weights):
            return None
        for _ in range(_TRIES):
            each = self.rng.choices(walls, weights)[0]
            low = max(each.low, self.inner.low(each.axis)) + 0.01
            high = min(each.high, self.inner.high(each.axis)) - 0.01
            if high - low < width:
                continue
            share = self.rng.choice((0.0, 0.5, 1.0, self.rng.random()))
            along = low + width / 2 + share * (high - low - width)
            if tall and self._meets_opening(each, along - width / 2, along + width / 2, 0.08):
                continue
            ground = self._strip(each, along, width, depth)
            front = self._strip(each, along, width, depth + before)
            if self._is_free(ground) and self._inside(front) and not any(front.overlaps(other) for other in self.taken):
                self.taken.append(ground)
                if tall:
                    self._hung.append((each, along - width / 2, along + width / 2))
                return place_on(self.solids, each, self.number, along)
        return None

    def widest(
        self, widths: tuple[float, ...], depth: float, *, tall: bool = False, before: float = 0.0
    ) -> tuple[Place | None, float]:
        """A spot at a wall for the first of these widths that fits, and that width."""
        for width in widths:
            spot = self.against_wall(width, depth, tall=tall, before=before)
            if spot:
                return spot, width
        return None, 0.0

    def in_the_open(self, width: float, depth: float, around: float = _AISLE) -> Place | None:
        """A spot away from the walls, for something that is walked around."""
        for _ in range(_TRIES):
            turned = self.rng.random() < 0.5
            w, d = (depth, width) if turned else (width, depth)
            room = self.inner.grown(-around)
            if room.width < w or room.depth < d:
                continue
            x = room.x0 + w / 2 + self.rng.random() * (room.width - w)
            z = room.z0 + d / 2 + self.rng.random() * (room.depth - d)
            spot = Place(self.solids, x, z, math.pi / 2 if turned else 0.0)
            ground = _ground(spot, width, depth)
            if self._is_free(ground.grown(0.35)):
                self.taken.append(ground)
                return spot
        return None

    def beside(self, place: Place, x: float, z: float, width: float, depth: float, turn: float = 0.0) -> Place | None:
        """The spot at (x, z) of `place`, if something so wide and deep fits there."""
        spot = place.at(x, z, turn)
        ground = _ground(spot, width, depth)
        if not (self._is_free(ground) and self._inside(ground)):
            return None
        self.taken.append(ground)
        return spot

    def cut_to_room(self, place: Place, width: float, depth: float) -> tuple[Place, float, float]:
        """The part between the walls of something so wide and deep at `place`: its own place, width and depth."""
        ground, room = _ground(place, width, depth), self.inner
        x0, z0 = max(ground.x0, room.x0), max(ground.z0, room.z0)
        part = Rectangle(x0, z0, min(ground.x1, room.x1), min(ground.z1, room.z1))
        spot = Place(self.solids, *part.centre, place.angle)
        return (spot, part.depth, part.width) if _is_sideways(place) else (spot, part.width, part.depth)

    def on_wall(self, width: float) -> Place | None:
        """A free stretch of wall at eye height to hang something on."""
        for _ in range(_TRIES):
            wall = self.rng.choice(self.walls)
            low = max(wall.low, self.inner.low(wall.axis)) + 0.15
            high = min(wall.high, self.inner.high(wall.axis)) - 0.15
            if high - low < width:
                continue
            along = low + width / 2 + self.rng.random() * (high - low - width)
            span = along - width / 2, along + width / 2
            hung = any(wall is other and span[0] < b + 0.1 and a < span[1] + 0.1 for other, a, b in self._hung)
            if not hung and not self._meets_opening(wall, *span, 0.35):
                self._hung.append((wall, *span))
                return place_on(self.solids, wall, self.number, along)
        return None

    def opposite(self, place: Place) -> Wall | None:
        """The longest wall that something at `place` looks at."""
        towards = place.at(0.0, 100.0)
        facing: Axis = 1 if abs(towards.z - place.z) > 50 else 0
        sign = (towards.z - place.z if facing else towards.x - place.x) > 0
        edge = self.inner.high(facing) if sign else self.inner.low(facing)
        found = [wall for wall in self.walls if wall.axis != facing and abs(wall.at - edge) < 0.2]
        return max(found, key=lambda wall: wall.high - wall.low, default=None)

    def _strip(self, wall: Wall, along: float, width: float, depth: float) -> Rectangle:
        return strip_before(wall, self.number, along - width / 2, along + width / 2, depth)

    def _is_free(self, ground: Rectangle) -> bool:
        return not any(ground.overlaps(other) for other in (*self.taken, *self._zones))

    def _inside(self, ground: Rectangle) -> bool:
        room = self.inner.grown(HALF_WALL + 0.02)
        return room.x0 <= ground.x0 and room.z0 <= ground.z0 and ground.x1 <= room.x1 and ground.z1 <= room.z1

    def _meets_opening(self, wall: Wall, low: float, high: float, margin: float) -> bool:
        return any(low < each.high + margin and each.low - margin < high for each in wall.openings)


def _ground(place: Place, width: float, depth: float) -> Rectangle:
    """The floor under something so wide and deep whose centre is at `place`."""
    w, d = (depth, width) if _is_sideways(place) else (width, depth)
    return Rectangle(place.x - w / 2, place.z - d / 2, place.x + w / 2, place.z + d / 2)


def _is_sideways(place: Place) -> bool:
    """Whether the width of what stands there runs along z."""
    return abs(math.sin(place.angle)) > 0.5

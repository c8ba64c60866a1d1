"""Builds walls, door frames, open doors and windows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random

from bonuslab.envs.habitat.apartments.materials import Material, Palette
from bonuslab.envs.habitat.apartments.plan import ApartmentPlan, Axis, Opening, Rectangle, Wall
from bonuslab.envs.habitat.apartments.solids import BOX, WALL, Place, Solids

HALF_WALL = 0.06
"""Metres from a wall's centre line to its face."""
OUTER_WALL = 0.26
"""Metres from an outer wall's centre line to its outer face."""
DOOR_ZONE = 0.95
"""Metres kept free in front of a door."""
_CASING = 0.06


@dataclass(slots=True)
class Doorways:
    """Floor that furniture must leave free, by room."""

    zones: list[list[Rectangle]]
    """In front of the doors."""
    leaves: list[list[Rectangle]]
    """Where open doors stand."""


def build_walls(
    solids: Solids, plan: ApartmentPlan, palette: Palette, surfaces: list[Material], view: Material, rng: Random
) -> Doorways:
    """Walls with their openings; `surfaces` are the rooms' wall materials, `view` is shown by windows."""
    doorways = Doorways([_zones(plan, room) for room in range(len(plan.rooms))], [[] for _ in plan.rooms])
    for wall in plan.walls:
        _WallBuilder(solids, plan, wall, palette, surfaces).build()
        for opening in wall.openings:
            if opening.kind == "window":
                _glaze(solids, wall, opening, palette, view)
            elif opening.kind == "door" and rng.random() < 0.7:
                _hang(solids, plan, wall, opening, palette, doorways, rng)
    return doorways


def place_on(solids: Solids, wall: Wall, room: int | None, along: float) -> Place:
    """The frame on the face of a wall towards `room`, with z pointing into that room."""
    first = wall.sides[0] == room
    inwards = -HALF_WALL if first else HALF_WALL
    if wall.axis == 0:
        return Place(solids, along, wall.at + inwards, math.pi if first else 0.0)
    return Place(solids, wall.at + inwards, along, -math.pi / 2 if first else math.pi / 2)


def strip_before(wall: Wall, room: int, low: float, high: float, depth: float) -> Rectangle:
    """The floor in front of a stretch of wall, on the side of `room`."""
    first = wall.sides[0] == room
    near, far = (wall.at - HALF_WALL - depth, wall.at) if first else (wall.at, wall.at + HALF_WALL + depth)
    return Rectangle(low, near, high, far) if wall.axis == 0 else Rectangle(near, low, far, high)


def _zones(plan: ApartmentPlan, room: int) -> list[Rectangle]:
    return [
        strip_before(wall, room, opening.low - 0.1, opening.high + 0.1, DOOR_ZONE)
        for wall in plan.walls_of(room)
        for opening in wall.openings
        if opening.kind != "window"
    ]


class _WallBuilder:
    """Builds one wall around its openings."""

    def __init__(
        self, solids: Solids, plan: ApartmentPlan, wall: Wall, palette: Palette, surfaces: list[Material]
    ) -> None:
        self.solids, self.plan, self.wall, self.palette = solids, plan, wall, palette
        # Along z, the box is rotated so that its own x runs along the wall; its +z side then faces smaller x.
        first, second = (palette.trim if side is None else surfaces[side] for side in wall.sides)
        self._back, self._front = (first, second) if wall.axis == 0 else (second, first)
        self._angle = 0.0 if wall.axis == 0 else -math.pi / 2
        outward = OUTER_WALL if wall.is_outer else HALF_WALL
        near, far = (outward if side is None else HALF_WALL for side in wall.sides)
        self._middle, self._half = wall.at + (far - near) / 2, (near + far) / 2

    def build(self) -> None:
        """Full-height pieces between the openings, and the pieces above and below each."""
        wall, ceiling = self.wall, self.plan.ceiling
        start = wall.low - self._extra(wall.low)
        for opening in sorted(wall.openings, key=lambda each: each.low):
            self._piece(start, opening.low, 0.0, ceiling)
            self._piece(opening.low, opening.high, opening.top, ceiling)
            if opening.bottom > 0:
                self._piece(opening.low, opening.high, 0.0, opening.bottom)
            else:
                self._case(opening)
            start = opening.high
        self._piece(start, wall.high + self._extra(wall.high), 0.0, ceiling)

    def _piece(self, low: float, high: float, bottom: float, top: float) -> None:
        if high - low < 1e-6 or top - bottom < 1e-6:
            return
        trim, flags = self.palette.trim, WALL if bottom == 0.0 and top == self.plan.ceiling else BOX
        self._add(low, high, bottom, top, self._half, (trim, trim, self._back, self._front, trim, trim), flags)

    def _case(self, opening: Opening) -> None:
        """A frame of trim around a doorway, a little thicker than the wall."""
        faces = (self.palette.trim,) * 6
        for low in (opening.low - _CASING, opening.high):
            self._add(low, low + _CASING, 0.0, opening.top + _CASING, self._half + 0.015, faces, BOX)
        self._add(opening.low, opening.high, opening.top, opening.top + _CASING, self._half + 0.015, faces, BOX)

    def _add(
        self, low: float, high: float, bottom: float, top: float, half: float, faces: tuple[Material, ...], flags: int
    ) -> None:
        along = (low + high) / 2
        x, z = (along, self._middle) if self.wall.axis == 0 else (self._middle, along)
        shape = (x, z, (high - low) / 2, half, math.cos(self._angle), math.sin(self._angle), bottom, top)
        self.solids.add(shape, faces, flags)

    def _extra(self, end: float) -> float:
        """Metres to add so that walls meet at corners; none where another wall continues."""
        wall = self.wall
        continues = any(
            other is not wall and other.axis == wall.axis and other.at == wall.at and end in (other.low, other.high)
            for other in self.plan.walls
        )
        across = [other for other in self.plan.walls if other.axis != wall.axis and other.at == end]
        below = any(other.low < wall.at <= other.high for other in across)
        above = any(other.low <= wall.at < other.high for other in across)
        return 0.0 if continues or (below and above) else HALF_WALL


def _glaze(solids: Solids, wall: Wall, opening: Opening, palette: Palette, view: Material) -> None:
    """A pane near the outer face of the wall, and a sill."""
    room = next(side for side in wall.sides if side is not None)
    width = opening.high - opening.low
    spot = place_on(solids, wall, room, (opening.low + opening.high) / 2)
    pane = width, opening.top - opening.bottom, 0.02
    spot.box(pane, palette.trim, z=-0.24, bottom=opening.bottom, front=view, solid=False)
    spot.box((width + 0.1, 0.03, 0.12), palette.trim, bottom=opening.bottom - 0.03)


def _hang(
    solids: Solids, plan: ApartmentPlan, wall: Wall, opening: Opening, palette: Palette, doorways: Doorways, rng: Random
) -> None:
    """An open door, in the deeper of the two rooms, unless it would block another."""
    axis: Axis = 1 if wall.axis == 0 else 0
    sides = [side for side in wall.sides if side is not None]
    room = max(sides, key=lambda side: plan.rooms[side].high(axis) - plan.rooms[side].low(axis))
    width = opening.high - opening.low
    own = strip_before(wall, room, opening.low - 0.1, opening.high + 0.1, DOOR_ZONE)
    hinges = [opening.low - 0.03, opening.high + 0.03]
    for hinge in rng.sample(hinges, len(hinges)):
        leaf = strip_before(wall, room, hinge - 0.04, hinge + 0.04, width)
        others = [zone for zone in doorways.zones[room] if zone != own] + doorways.leaves[room]
        if any(leaf.overlaps(zone, 0.05) for zone in others) or not _inside(plan.rooms[room], leaf):
            continue
        spot = place_on(solids, wall, room, hinge).at(0, 0, rng.uniform(-0.05, 0.05) + math.pi / 2)
        colour = palette.trim if rng.random() < 0.6 else palette.wood
        # After the quarter turn, the leaf's width extends into the room, towards its own -x.
        spot.box((width, opening.top - 0.03, 0.04), palette.front("drawers", colour), x=-width / 2 - 0.02, bottom=0.01)
        doorways.leaves[room].append(leaf)
        return


def _inside(room: Rectangle, part: Rectangle) -> bool:
    return room.x0 < part.x0 + HALF_WALL and room.z0 < part.z0 + HALF_WALL and part.x1 < room.x1 and part.z1 < room.z1

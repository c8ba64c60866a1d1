"""Builds what belongs to the house itself: walls, door frames and doors, windows, curtains and radiators."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from random import Random

from bonuslab.envs.habitat.apartments.materials import Material, Taste, shades
from bonuslab.envs.habitat.apartments.plan import Axis, Opening, Plan, Rectangle, Wall
from bonuslab.envs.habitat.apartments.solids import BOX, WALL, Place, Solids

HALF_WALL = 0.06
"""Metres from the middle line of a wall to its face."""
OUTER_WALL = 0.26
"""Metres from the middle line of an outer wall to its outer face."""
DOOR_ZONE = 0.95
"""Metres that must stay free before a door."""
_CASING = 0.06


@dataclass(slots=True)
class Shell:
    """What furniture has to respect."""

    zones: list[list[Rectangle]]
    """By room: floor that must stay free, before its doors."""
    leaves: list[list[Rectangle]]
    """By room: where an open door stands."""
    windows: list[tuple[Wall, Opening]] = field(default_factory=list)


def build_shell(solids: Solids, plan: Plan, taste: Taste, surfaces: list[Material], sky: int, rng: Random) -> Shell:
    """Walls with all their openings; `surfaces` are the rooms' wall materials."""
    shell = Shell([_zones(plan, room) for room in range(len(plan.rooms))], [[] for _ in plan.rooms])
    view = Material("plaster", shades((200, 215, 235)), sky=sky)
    for wall in plan.walls:
        _Mason(solids, plan, wall, taste, surfaces).build()
        for opening in wall.openings:
            if opening.kind == "window":
                shell.windows.append((wall, opening))
                _glaze(solids, wall, opening, taste, view, rng)
            elif opening.kind == "door" and rng.random() < 0.7:
                _hang(solids, plan, wall, opening, taste, shell, rng)
    return shell


def place_on(solids: Solids, wall: Wall, room: int | None, along: float) -> Place:
    """A spot on the face of a wall towards `room`, its z pointing into that room."""
    first = wall.sides[0] == room
    inwards = -HALF_WALL if first else HALF_WALL
    if wall.axis == 0:
        return Place(solids, along, wall.at + inwards, math.pi if first else 0.0)
    return Place(solids, wall.at + inwards, along, -math.pi / 2 if first else math.pi / 2)


def strip_before(wall: Wall, room: int, low: float, high: float, depth: float) -> Rectangle:
    """The floor before a stretch of wall, on the side of `room`."""
    first = wall.sides[0] == room
    near, far = (wall.at - HALF_WALL - depth, wall.at) if first else (wall.at, wall.at + HALF_WALL + depth)
    return Rectangle(low, near, high, far) if wall.axis == 0 else Rectangle(near, low, far, high)


def _zones(plan: Plan, room: int) -> list[Rectangle]:
    return [
        strip_before(wall, room, opening.low - 0.1, opening.high + 0.1, DOOR_ZONE)
        for wall in plan.walls_of(room)
        for opening in wall.openings
        if opening.kind != "window"
    ]


class _Mason:
    """Builds one wall around its openings."""

    def __init__(self, solids: Solids, plan: Plan, wall: Wall, taste: Taste, surfaces: list[Material]) -> None:
        self.solids, self.plan, self.wall, self.taste = solids, plan, wall, taste
        # Along z, the box is turned so that its own x runs along the wall: its +z side then faces the smaller x.
        first, second = (taste.trim if side is None else surfaces[side] for side in wall.sides)
        self._back, self._front = (first, second) if wall.axis == 0 else (second, first)
        self._angle = 0.0 if wall.axis == 0 else -math.pi / 2
        outward = OUTER_WALL if wall.is_outer else HALF_WALL
        near, far = (outward if side is None else HALF_WALL for side in wall.sides)
        self._middle, self._half = wall.at + (far - near) / 2, (near + far) / 2

    def build(self) -> None:
        """Pillars between the openings, and what is above and below these."""
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
        trim, flags = self.taste.trim, WALL if bottom == 0.0 and top == self.plan.ceiling else BOX
        self._add(low, high, bottom, top, self._half, (trim, trim, self._back, self._front, trim, trim), flags)

    def _case(self, opening: Opening) -> None:
        """A frame of trim around a doorway, a little thicker than the wall."""
        faces = (self.taste.trim,) * 6
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
        """Fills the corner where two walls meet at their ends; nothing where another wall goes on."""
        wall = self.wall
        goes_on = any(
            other is not wall and other.axis == wall.axis and other.at == wall.at and end in (other.low, other.high)
            for other in self.plan.walls
        )
        across = [other for other in self.plan.walls if other.axis != wall.axis and other.at == end]
        below = any(other.low < wall.at <= other.high for other in across)
        above = any(other.low <= wall.at < other.high for other in across)
        return 0.0 if goes_on or (below and above) else HALF_WALL


def _glaze(solids: Solids, wall: Wall, opening: Opening, taste: Taste, view: Material, rng: Random) -> None:
    """The pane with its frame, and often curtains and a radiator."""
    room = next(side for side in wall.sides if side is not None)
    middle, width = (opening.low + opening.high) / 2, opening.high - opening.low
    height = opening.top - opening.bottom
    spot = place_on(solids, wall, room, middle)
    trim = taste.trim
    spot.box((width, height, 0.02), view, z=-0.24, bottom=opening.bottom, solid=False)
    for x in (-width / 2 + 0.025, width / 2 - 0.025):
        spot.box((0.05, height, 0.06), trim, x=x, z=-0.2, bottom=opening.bottom, solid=False)
    for bottom in (opening.bottom, opening.top - 0.05):
        spot.box((width, 0.05, 0.06), trim, z=-0.2, bottom=bottom, solid=False)
    parts = 1 + max(1, round(width / 1.1))
    for number in range(1, parts):
        x = (number / parts - 0.5) * width
        spot.box((0.04, height, 0.06), trim, x=x, z=-0.2, bottom=opening.bottom, solid=False)
    if opening.bottom > 0.4:
        spot.box((width + 0.1, 0.03, 0.12), trim, z=0.0, bottom=opening.bottom - 0.03)
    if 0.7 < opening.bottom < 1.2 and rng.random() < 0.55:
        white = taste.front("radiator", (230, 230, 228))
        spot.box((min(width, 1.2), 0.55, 0.08), white, z=0.06, bottom=0.12)
    if opening.bottom < 1.2 and rng.random() < 0.65:
        low = 0.05 if rng.random() < 0.6 else opening.bottom - 0.1
        for side in (-1, 1):
            spot.box(
                (0.26, opening.top + 0.1 - low, 0.05), taste.curtain, x=side * (width / 2 + 0.06), z=0.075, bottom=low
            )
        spot.box((width + 0.6, 0.025, 0.025), taste.metal, z=0.075, bottom=opening.top + 0.1, solid=False)


def _hang(solids: Solids, plan: Plan, wall: Wall, opening: Opening, taste: Taste, shell: Shell, rng: Random) -> None:
    """A door that stands open, in the roomier of the two rooms, unless it would stand in the way of another."""
    axis: Axis = 1 if wall.axis == 0 else 0
    sides = [side for side in wall.sides if side is not None]
    room = max(sides, key=lambda side: plan.rooms[side].high(axis) - plan.rooms[side].low(axis))
    width = opening.high - opening.low
    own = strip_before(wall, room, opening.low - 0.1, opening.high + 0.1, DOOR_ZONE)
    hinges = [opening.low - 0.03, opening.high + 0.03]
    for hinge in rng.sample(hinges, len(hinges)):
        leaf = strip_before(wall, room, hinge - 0.04, hinge + 0.04, width)
        others = [zone for zone in shell.zones[room] if zone != own] + shell.leaves[room]
        if any(leaf.overlaps(zone, 0.05) for zone in others) or not _inside(plan.rooms[room], leaf):
            continue
        spot = place_on(solids, wall, room, hinge).at(0, 0, rng.uniform(-0.05, 0.05) + math.pi / 2)
        front = taste.front("panelled_door", taste.trim.colours[0] if rng.random() < 0.6 else None)
        # Turned by a quarter, the leaf's own width runs into the room (towards its -x).
        spot.box((width, opening.top - 0.03, 0.04), front, x=-width / 2 - 0.02, bottom=0.01)
        shell.leaves[room].append(leaf)
        return


def _inside(room: Rectangle, part: Rectangle) -> bool:
    return room.x0 < part.x0 + HALF_WALL and room.z0 < part.z0 + HALF_WALL and part.x1 < room.x1 and part.z1 < room.z1

"""A floor plan: rectangular rooms, the walls between them, and the openings in the walls."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

Axis = Literal[0, 1]
"""0 for x, 1 for z."""


class RoomKind(Enum):
    """The use of a room, which determines its furniture."""

    HALL = "hall"
    LIVING = "living room"
    KITCHEN = "kitchen"
    DINING = "dining room"
    BEDROOM = "bedroom"
    BATHROOM = "bathroom"
    STUDY = "study"
    STORE = "store room"


@dataclass(frozen=True, slots=True)
class Rectangle:
    """Axis-aligned, in metres."""

    x0: float
    z0: float
    x1: float
    z1: float

    @property
    def width(self) -> float:
        """Along x."""
        return self.x1 - self.x0

    @property
    def depth(self) -> float:
        """Along z."""
        return self.z1 - self.z0

    @property
    def area(self) -> float:
        """Square metres."""
        return self.width * self.depth

    @property
    def centre(self) -> tuple[float, float]:
        """(x, z)."""
        return (self.x0 + self.x1) / 2, (self.z0 + self.z1) / 2

    def low(self, axis: Axis) -> float:
        """Lower edge along `axis`."""
        return self.z0 if axis else self.x0

    def high(self, axis: Axis) -> float:
        """Upper edge along `axis`."""
        return self.z1 if axis else self.x1

    def overlaps(self, other: Rectangle, margin: float = 0.0) -> bool:
        """Whether the two are closer than `margin`."""
        return (
            self.x0 - margin < other.x1
            and other.x0 < self.x1 + margin
            and self.z0 - margin < other.z1
            and other.z0 < self.z1 + margin
        )

    def contains(self, x: float, z: float) -> bool:
        """Whether the point lies inside."""
        return self.x0 <= x < self.x1 and self.z0 <= z < self.z1

    def grown(self, by: float) -> Rectangle:
        """Extended by `by` on every side; negative shrinks."""
        return Rectangle(self.x0 - by, self.z0 - by, self.x1 + by, self.z1 + by)


@dataclass(slots=True)
class Opening:
    """A hole in a wall, from `low` to `high` along it and from `bottom` to `top` above the floor."""

    kind: Literal["door", "passage", "window"]
    low: float
    high: float
    bottom: float
    top: float


@dataclass(slots=True)
class Wall:
    """A straight wall along `axis`, with one room on each side over its whole length.

    It runs from `low` to `high` where the other coordinate is `at`. `sides` are the indices of the rooms at smaller
    and larger values of that coordinate; None is outside.
    """

    axis: Axis
    at: float
    low: float
    high: float
    sides: tuple[int | None, int | None]
    openings: list[Opening] = field(default_factory=list)

    @property
    def is_outer(self) -> bool:
        """Whether one side is outside."""
        return None in self.sides


@dataclass(slots=True)
class ApartmentPlan:
    """Rooms are measured between the centre lines of their walls."""

    rooms: list[Rectangle]
    kinds: list[RoomKind]
    walls: list[Wall]
    ceiling: float
    """Height of all rooms."""

    @property
    def bounds(self) -> Rectangle:
        """Bounding box of all rooms."""
        return Rectangle(
            min(room.x0 for room in self.rooms),
            min(room.z0 for room in self.rooms),
            max(room.x1 for room in self.rooms),
            max(room.z1 for room in self.rooms),
        )

    def walls_of(self, room: int) -> list[Wall]:
        """The walls around a room."""
        return [wall for wall in self.walls if room in wall.sides]


def walls_around(rooms: list[Rectangle]) -> list[Wall]:
    """Every wall of these rooms once, split where the room on either side changes."""
    walls: list[Wall] = []
    axes: tuple[Axis, Axis] = (0, 1)
    for axis in axes:
        across: Axis = 1 if axis == 0 else 0
        lines = sorted({edge for room in rooms for edge in (room.low(across), room.high(across))})
        for at in lines:
            before = {number: room for number, room in enumerate(rooms) if room.high(across) == at}
            after = {number: room for number, room in enumerate(rooms) if room.low(across) == at}
            touching = [*before.values(), *after.values()]
            cuts = sorted({edge for room in touching for edge in (room.low(axis), room.high(axis))})
            for low, high in itertools.pairwise(cuts):
                middle = (low + high) / 2
                sides = tuple(
                    next((number for number, room in group.items() if room.low(axis) < middle < room.high(axis)), None)
                    for group in (before, after)
                )
                if sides == (None, None):
                    continue
                last = walls[-1] if walls else None
                if last and (last.axis, last.at, last.high, last.sides) == (axis, at, low, sides):
                    last.high = high
                else:
                    walls.append(Wall(axis, at, low, high, (sides[0], sides[1])))
    return walls

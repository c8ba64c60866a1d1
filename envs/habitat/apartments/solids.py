"""Collects the boxes and cylinders of a scene: shape, material of each face, and whether they block the agent."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from bonuslab.envs.habitat.apartments.materials import Material
from bonuslab.envs.habitat.simulator import AGENT_HEIGHT

LOW_ENOUGH = 0.12
"""Metres: the agent steps over anything that is no higher."""

BOX, CYLINDER, WALL = 0, 1, 2
"""Flags of a solid. WALL reaches from floor to ceiling, so rays end there."""


@dataclass(slots=True)
class Solids:
    """Everything visible except floors and ceilings."""

    shapes: list[tuple[float, ...]] = field(default_factory=list)
    """x, z of the centre, half width and half depth, cosine and sine of the rotation, bottom, top."""
    flags: list[int] = field(default_factory=list)
    faces: list[tuple[int, ...]] = field(default_factory=list)
    """Materials of the faces towards -x, +x, -z, +z, up and down."""
    materials: list[Material] = field(default_factory=list)
    blocking: list[bool] = field(default_factory=list)
    _numbers: dict[Material, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.shapes)

    def number_of(self, material: Material) -> int:
        """Index of `material` in this scene."""
        number = self._numbers.setdefault(material, len(self.materials))
        if number == len(self.materials):
            self.materials.append(material)
        return number

    def add(self, shape: tuple[float, ...], faces: tuple[Material, ...], flags: int = BOX, solid: bool = True) -> None:
        """Add a box or a cylinder."""
        self.shapes.append(shape)
        self.faces.append(tuple(self.number_of(face) for face in faces))
        self.flags.append(flags)
        self.blocking.append(solid and shape[6] < AGENT_HEIGHT and shape[7] > LOW_ENOUGH)

    def truncate(self, length: int) -> None:
        """Keep only the first `length` solids."""
        for column in (self.shapes, self.flags, self.faces, self.blocking):
            del column[length:]


class Place:
    """A local frame: x to the right along the wall, z away from it into the room."""

    def __init__(self, solids: Solids, x: float, z: float, angle: float = 0.0) -> None:
        self.solids = solids
        self.x, self.z, self.angle = x, z, angle
        self._cos, self._sin = math.cos(angle), math.sin(angle)

    def at(self, x: float, z: float, turn: float = 0.0) -> Place:
        """The frame at local (x, z), rotated by `turn`."""
        return Place(self.solids, *self.world(x, z), self.angle + turn)

    def world(self, x: float, z: float) -> tuple[float, float]:
        """Scene coordinates of local (x, z)."""
        return self.x + self._cos * x + self._sin * z, self.z - self._sin * x + self._cos * z

    def box(
        self,
        size: tuple[float, float, float],
        material: Material,
        *,
        x: float = 0.0,
        z: float = 0.0,
        bottom: float = 0.0,
        front: Material | None = None,
        top: Material | None = None,
        solid: bool = True,
    ) -> None:
        """A box of `size` = (width, height, depth) centred at (x, z)."""
        width, height, depth = size
        shape = (*self.world(x, z), width / 2, depth / 2, self._cos, self._sin, bottom, bottom + height)
        faces = (material, material, material, front or material, top or material, material)
        self.solids.add(shape, faces, BOX, solid)

    def cylinder(
        self,
        radius: float,
        height: float,
        material: Material,
        *,
        x: float = 0.0,
        z: float = 0.0,
        bottom: float = 0.0,
        solid: bool = True,
    ) -> None:
        """An upright cylinder."""
        shape = (*self.world(x, z), radius, radius, self._cos, self._sin, bottom, bottom + height)
        self.solids.add(shape, (material,) * 6, CYLINDER, solid)

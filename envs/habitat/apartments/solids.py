"""Collects the boxes and cylinders of a scene, with the material of each face and what blocks the way."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from bonuslab.envs.habitat.apartments.looks.pictures import CUTOUTS
from bonuslab.envs.habitat.apartments.materials import Material
from bonuslab.envs.habitat.simulator import AGENT_HEIGHT

LOW_ENOUGH = 0.12
"""Metres: what is no higher than this is stepped over."""

BOX, CYLINDER, WALL, HOLED = 0, 1, 2, 4
"""Flags of a solid. WALL reaches from floor to ceiling, so no ray goes on behind it; HOLED lets some rays through."""


@dataclass(slots=True)
class Solids:
    """Everything that can be seen but floors and ceilings."""

    shapes: list[tuple[float, ...]] = field(default_factory=list)
    """x, z of the centre, half width and half depth, cosine and sine of its turn, bottom, top."""
    flags: list[int] = field(default_factory=list)
    faces: list[tuple[int, ...]] = field(default_factory=list)
    """Material of the faces towards -x, +x, -z, +z, up and down."""
    materials: list[Material] = field(default_factory=list)
    blocking: list[bool] = field(default_factory=list)
    lamps: list[tuple[float, float, float]] = field(default_factory=list)
    """x, z and strength."""
    _numbers: dict[Material, int] = field(default_factory=dict)

    def number_of(self, material: Material) -> int:
        """The number under which this scene keeps `material`."""
        number = self._numbers.get(material)
        if number is None:
            if material.band:
                self.number_of(material.band[1])
            number = self._numbers[material] = len(self.materials)
            self.materials.append(material)
        return number

    def add(self, shape: tuple[float, ...], faces: tuple[Material, ...], flags: int = BOX, solid: bool = True) -> None:
        """One more box or cylinder."""
        self.shapes.append(shape)
        self.faces.append(tuple(self.number_of(face) for face in faces))
        if faces[3].texture in CUTOUTS:
            flags |= HOLED
        self.flags.append(flags)
        self.blocking.append(solid and shape[6] < AGENT_HEIGHT and shape[7] > LOW_ENOUGH)

    def mark(self) -> tuple[int, int]:
        """How much there is now."""
        return len(self.shapes), len(self.lamps)

    def cut_back(self, mark: tuple[int, int]) -> None:
        """Forget what was added since."""
        for column in (self.shapes, self.flags, self.faces, self.blocking):
            del column[mark[0] :]
        del self.lamps[mark[1] :]


class Place:
    """A spot in a scene with its own axes: x to the right along the wall, z away from it into the room."""

    def __init__(self, solids: Solids, x: float, z: float, angle: float = 0.0) -> None:
        self.solids = solids
        self.x, self.z, self.angle = x, z, angle
        self._cos, self._sin = math.cos(angle), math.sin(angle)

    def at(self, x: float, z: float, turn: float = 0.0) -> Place:
        """A spot beside this one."""
        return Place(self.solids, *self.world(x, z), self.angle + turn)

    def world(self, x: float, z: float) -> tuple[float, float]:
        """Coordinates in the scene."""
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
        """A box of `size` = (width, height, depth) whose centre stands at (x, z)."""
        width, height, depth = size
        centre = self.world(x, z)
        shape = (*centre, width / 2, depth / 2, self._cos, self._sin, bottom, bottom + height)
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
        top: Material | None = None,
        solid: bool = True,
    ) -> None:
        """An upright cylinder."""
        shape = (*self.world(x, z), radius, radius, self._cos, self._sin, bottom, bottom + height)
        self.solids.add(shape, (material,) * 4 + (top or material, material), CYLINDER, solid)

    def lamp(self, x: float, z: float, strength: float) -> None:
        """Light that spreads from here."""
        self.solids.lamps.append((*self.world(x, z), strength))

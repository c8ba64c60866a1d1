"""Furniture: a few parametric kinds, and which rooms they go into."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from random import Random
from typing import NamedTuple

from bonuslab.envs.habitat.apartments.lighting import lamp_spots
from bonuslab.envs.habitat.apartments.materials import Material, Palette, shades
from bonuslab.envs.habitat.apartments.placing import RoomFloor
from bonuslab.envs.habitat.apartments.plan import RoomKind
from bonuslab.envs.habitat.apartments.solids import Place

_LAMP = Material("plaster", shades((255, 246, 224), 0.97, 0.85), glow=1.0)
_SIDES = (-1, 1)


def _cabinet(
    place: Place,
    palette: Palette,
    rng: Random,
    width: float,
    *,
    height: float,
    depth: float,
    body: str = "wood",
    front: str = "doors",
    bottom: float = 0.0,
) -> None:
    """Cupboards, bookcases and appliances: units side by side; `body` is an attribute of the palette."""
    material = getattr(palette, body)
    units = max(1, round(width / 0.8))
    face = palette.printed(front) if front == "books" else palette.front(front, material)
    for unit in range(units):
        x = (unit + 0.5) * width / units - width / 2
        place.box((width / units, height, depth), material, x=x, z=depth / 2, bottom=bottom, front=face)


def _table(place: Place, top: Material, legs: Material, width: float, depth: float, height: float) -> None:
    """A top on four legs."""
    place.box((width, 0.04, depth), top, bottom=height - 0.04)
    for x in (0.05 - width / 2, width / 2 - 0.05):
        for z in (0.05 - depth / 2, depth / 2 - 0.05):
            place.box((0.06, height - 0.04, 0.06), legs, x=x, z=z)


def _chair(place: Place, palette: Palette, seat: Material) -> None:
    """Faces +z, centred at the spot."""
    _table(place, seat, palette.wood, 0.42, 0.42, 0.46)
    place.box((0.42, 0.44, 0.04), seat, z=-0.19, bottom=0.46)


def _sofa(place: Place, palette: Palette, rng: Random, width: float) -> None:
    """A sofa with a coffee table, or an armchair if it is narrow."""
    cloth = palette.cloth(rng.choice(["cloth", "stripes"]))
    place.box((width, rng.uniform(0.72, 0.95), 0.24), cloth, z=0.14)
    place.box((width - 0.36, 0.42, 0.66), cloth, z=0.57, top=palette.cloth())
    for side in _SIDES:
        place.box((0.18, 0.6, 0.88), cloth, x=side * (width - 0.18) / 2, z=0.46)
    if width > 1.2:
        _table(place.at(0, 1.6), palette.other_wood, palette.wood, 1.0, 0.5, 0.4)


def _bed(place: Place, palette: Palette, rng: Random, width: float) -> None:
    """Headboard against the wall; a double bed has nightstands."""
    if width > 1.2:
        for side in _SIDES:
            stand = place.at(side * (width / 2 - 0.23), 0)
            _cabinet(stand, palette, rng, 0.44, height=0.5, depth=0.36, front="drawers")
            stand.cylinder(0.1, 0.3, _LAMP, z=0.18, bottom=0.5)
        width -= 0.96
    place.box((width, rng.uniform(0.8, 1.2), 0.07), palette.wood, z=0.04)
    place.box((width, 0.34, 2.0), palette.wood, z=1.07, top=palette.white)
    place.box((width + 0.02, 0.16, 1.5), palette.cloth(), z=1.32, bottom=0.3, top=palette.printed("quilt"))
    place.box((width - 0.2, 0.12, 0.38), palette.white, z=0.33, bottom=0.34)


def _desk(place: Place, palette: Palette, rng: Random, width: float) -> None:
    """A desk with a monitor and a chair."""
    _table(place.at(0, 0.32), palette.other_wood, palette.wood, width, 0.62, 0.74)
    place.box((0.52, 0.36, 0.03), palette.dark, z=0.2, bottom=0.8)
    _chair(place.at(0, 0.9, math.pi + rng.gauss(0, 0.3)), palette, palette.cloth())


def _television(place: Place, palette: Palette, rng: Random, width: float) -> None:
    _cabinet(place, palette, rng, width, height=0.48, depth=0.4, front="drawers")
    place.box((0.8 * width, 0.45 * width, 0.05), palette.dark, z=0.2, bottom=0.5)


def _kitchen_row(place: Place, palette: Palette, rng: Random, width: float) -> None:
    """A fridge, and a counter with cupboards above."""
    rest = place.at(0.32, 0)
    _cabinet(place.at(0.32 - width / 2, 0), palette, rng, 0.62, height=1.85, depth=0.6, body="white", front="drawers")
    _counter(rest, palette, rng, width - 0.64)
    _cabinet(rest, palette, rng, width - 0.64, height=0.7, depth=0.34, body="kitchen", bottom=1.5)


def _counter(place: Place, palette: Palette, rng: Random, width: float) -> None:
    _cabinet(place, palette, rng, width, height=0.86, depth=0.56, body="kitchen")
    place.box((width, 0.04, 0.6), palette.other_wood, z=0.3, bottom=0.86)
    place.box((0.5, 0.01, 0.4), palette.dark, x=rng.uniform(-0.3, 0.3) * width, z=0.3, bottom=0.9)  # stove


def _bath(place: Place, palette: Palette, rng: Random, width: float) -> None:
    water = Material("plaster", shades((150, 196, 214), 0.95))
    place.box((width, 0.5, 0.75), palette.white, z=0.375)
    place.box((width - 0.2, 0.01, 0.55), water, z=0.375, bottom=0.5)


def _toilet(place: Place, palette: Palette, rng: Random, width: float) -> None:
    place.box((width, 0.42, 0.18), palette.white, z=0.1, bottom=0.4)
    place.cylinder(0.18, 0.42, palette.white, z=0.38)


def _washstand(place: Place, palette: Palette, rng: Random, width: float) -> None:
    """A basin on a cupboard, with a mirror above."""
    _cabinet(place, palette, rng, width, height=0.8, depth=0.46)
    place.cylinder(0.19, 0.1, palette.white, z=0.25, bottom=0.8)
    mirror = Material("plaster", shades((196, 212, 220)), glow=0.5)
    place.box((width, 0.75, 0.03), palette.wood, z=0.016, bottom=1.2, front=mirror, solid=False)


def _plant(place: Place, palette: Palette, rng: Random, width: float) -> None:
    """A pot with two tiers of leaves."""
    pot, size = rng.uniform(0.25, 0.42), rng.uniform(0.3, 0.5)
    place.cylinder(0.15, pot, palette.cloth(), z=0.22)
    place.cylinder(0.21, size, palette.leaves, z=0.22, bottom=pot)
    place.cylinder(0.13, size, palette.leaves, z=0.22, bottom=pot + size)


def _picture(place: Place, palette: Palette, rng: Random, width: float) -> None:
    height = width * rng.choice([0.75, 1.0, 1.25])
    canvas = palette.printed("painting")
    place.box((width, height, 0.03), palette.dark, z=0.016, bottom=1.5 - height / 2, front=canvas, solid=False)


def _dining_table(place: Place, palette: Palette, rng: Random, width: float) -> None:
    """A table with chairs on both sides; takes 0.35 metres more than its top on every side."""
    seat, width = palette.cloth(), width - 0.7
    _table(place, palette.other_wood, palette.wood, width, 0.9, 0.74)
    chairs = max(1, round(width / 0.62))
    for side in _SIDES:
        for number in range(chairs):
            x = (number + 0.5) * width / chairs - width / 2
            _chair(place.at(x, side * 0.57, (math.pi if side > 0 else 0.0) + rng.gauss(0, 0.08)), palette, seat)


class _Item(NamedTuple):
    """A kind of furniture and the space it needs, in metres."""

    build: Callable[[Place, Palette, Random, float], None]
    widths: tuple[float, ...]
    """From wide to narrow: a random one, or the next that fits."""
    depth: float
    front: float = 0.4
    """Free floor in front of it."""
    tall: bool = False
    """Must not stand in front of a window."""
    in_the_open: bool = False
    """Stands away from the walls."""


_SOFA = _Item(_sofa, (2.3, 2.0, 1.6), 1.9, 0.2)
_ARMCHAIR = _Item(_sofa, (0.85,), 0.9)
_TELEVISION = _Item(_television, (1.5, 1.2), 0.42, 0.5, tall=True)
_BED = _Item(_bed, (2.6, 2.3, 0.95), 2.15)
_DESK = _Item(_desk, (1.5, 1.2), 1.15, 0.2)
_BOOKCASE = _Item(partial(_cabinet, height=1.9, depth=0.32, front="books"), (1.6, 1.2, 0.8), 0.34, tall=True)
_LOW_BOOKCASE = _Item(partial(_cabinet, height=1.1, depth=0.32, front="books"), (1.2, 0.8), 0.34, tall=True)
_SIDEBOARD = _Item(partial(_cabinet, height=0.8, depth=0.42, front="drawers"), (1.4, 0.9), 0.44)
_SHOE_CABINET = _Item(partial(_cabinet, height=0.9, depth=0.3), (0.9, 0.6), 0.32, 0.75)
_WARDROBE = _Item(partial(_cabinet, height=2.0, depth=0.6), (1.8, 1.0), 0.62, 0.5, tall=True)
_KITCHEN_ROW = _Item(_kitchen_row, (3.2, 2.6, 2.0, 1.4), 0.6, 0.8, tall=True)
_COUNTER = _Item(_counter, (1.8, 1.2), 0.6, 0.8)
_DINING_TABLE = _Item(_dining_table, (2.5, 2.1, 1.5), 1.6, in_the_open=True)
_BATH = _Item(_bath, (1.7, 0.9), 0.77)
_TOILET = _Item(_toilet, (0.4,), 0.6)
_WASHSTAND = _Item(_washstand, (1.2, 0.9, 0.6), 0.48, tall=True)
_WASHING_MACHINE = _Item(partial(_cabinet, height=0.86, depth=0.58, body="white"), (0.6,), 0.6)
_CRATE = _Item(partial(_cabinet, height=0.4, depth=0.4, front="wood", body="other_wood"), (0.5, 0.35), 0.42)
_PLANT = _Item(_plant, (0.45,), 0.45, 0.0)
_PICTURE = _Item(_picture, (1.0, 0.7, 0.4), 0.05, tall=True)

_ROOMS: dict[RoomKind, tuple[tuple[_Item, int, int], ...]] = {
    RoomKind.LIVING: (
        (_SOFA, 1, 1), (_TELEVISION, 1, 1), (_ARMCHAIR, 1, 2), (_BOOKCASE, 1, 2), (_LOW_BOOKCASE, 0, 1),
        (_SIDEBOARD, 0, 1), (_DINING_TABLE, 0, 1), (_PLANT, 1, 3), (_PICTURE, 1, 5),
    ),
    RoomKind.KITCHEN: (
        (_KITCHEN_ROW, 1, 1), (_COUNTER, 0, 1), (_DINING_TABLE, 0, 1), (_SIDEBOARD, 0, 1), (_PLANT, 0, 1),
        (_PICTURE, 0, 2),
    ),
    RoomKind.DINING: ((_DINING_TABLE, 1, 1), (_SIDEBOARD, 1, 2), (_BOOKCASE, 0, 1), (_PLANT, 0, 2), (_PICTURE, 1, 4)),
    RoomKind.BEDROOM: (
        (_BED, 1, 1), (_WARDROBE, 1, 1), (_DESK, 0, 1), (_SIDEBOARD, 0, 1), (_PLANT, 0, 1), (_PICTURE, 0, 3),
    ),
    RoomKind.BATHROOM: ((_BATH, 1, 1), (_TOILET, 1, 1), (_WASHSTAND, 1, 1), (_WASHING_MACHINE, 0, 1), (_PLANT, 0, 1)),
    RoomKind.STUDY: ((_DESK, 1, 1), (_BOOKCASE, 1, 3), (_ARMCHAIR, 0, 1), (_PLANT, 0, 1), (_PICTURE, 0, 3)),
    RoomKind.HALL: ((_SHOE_CABINET, 1, 2), (_PICTURE, 1, 5)),
    RoomKind.STORE: ((_BOOKCASE, 1, 3), (_WASHING_MACHINE, 0, 1), (_CRATE, 1, 4)),
}  # fmt: skip
"""By room: (item, fewest, most), in the order in which they look for a place."""


def furnish(floor: RoomFloor, palette: Palette) -> None:
    """Put furniture into one room; whatever does not fit is left out."""
    rng = floor.rng
    if floor.kind is not RoomKind.STORE and rng.random() < 0.6:
        rug = rng.uniform(0.35, 0.6) * floor.inner.width, 0.012, rng.uniform(0.35, 0.6) * floor.inner.depth
        Place(floor.solids, *floor.inner.centre).box(rug, palette.printed("quilt"), solid=False)
    for item, fewest, most in _ROOMS[floor.kind]:
        for _ in range(rng.randint(fewest, most)):
            for width in item.widths[rng.randrange(len(item.widths)) :]:
                if item.in_the_open:
                    place = floor.in_the_open(width, item.depth)
                else:
                    place = floor.against_wall(width, item.depth, item.front, item.tall)
                if place:
                    item.build(place, palette, rng, width)
                    break


def hang_lamps(floor: RoomFloor, ceiling: float) -> None:
    """Flat ceiling lamps."""
    for x, z in lamp_spots(floor.inner):
        Place(floor.solids, x, z).cylinder(0.2, 0.07, _LAMP, bottom=ceiling - 0.07, solid=False)

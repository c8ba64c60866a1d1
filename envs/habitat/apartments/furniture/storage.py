"""Cupboards, shelves, desks and what stands on them."""

from __future__ import annotations

from random import Random

from bonuslab.envs.habitat.apartments.materials import ACCENTS, Material, Taste, shades
from bonuslab.envs.habitat.apartments.solids import Place


def bookcase(place: Place, taste: Taste, rng: Random, width: float, height: float) -> None:
    """Rows of books."""
    colours = (taste.wood_colour, taste.pick(ACCENTS), taste.pick(ACCENTS))
    place.box((width, height, 0.32), taste.wood, z=0.16, front=Material("books", colours, repeat=0))
    if rng.random() < 0.4:
        place.cylinder(0.09, 0.22, taste.wooden(taste.accent), x=rng.uniform(-0.3, 0.3) * width, z=0.16, bottom=height)


def cupboard(place: Place, taste: Taste, rng: Random, width: float, height: float, depth: float) -> None:
    """A wardrobe, or a low cupboard."""
    colour = None if rng.random() < 0.6 else taste.pick(((232, 230, 224), (92, 100, 96), (206, 196, 180)))
    front = taste.front("drawers" if height < 1.0 and rng.random() < 0.5 else "doors", colour)
    body = taste.wood if colour is None else taste.wooden(colour)
    place.box((width, 0.06, depth - 0.04), taste.metal, z=depth / 2)
    doors = max(1, round(width / 0.95))
    for number in range(doors):
        x = (number + 0.5) * width / doors - width / 2
        place.box((width / doors, height - 0.06, depth), body, x=x, z=depth / 2, bottom=0.06, front=front)


def television(place: Place, taste: Taste, rng: Random, width: float) -> None:
    """A low board with a screen on it."""
    cupboard(place, taste, rng, width, 0.48, 0.4)
    dark = ((18.0, 20.0, 24.0), (62.0, 70.0, 84.0), (8.0, 8.0, 9.0))
    shell = Material("metal", shades((26, 26, 28)), 0.5)
    broad = min(width * 0.85, 1.25)
    place.box((0.3, 0.03, 0.18), shell, z=0.2, bottom=0.48)
    place.box((0.05, 0.08, 0.05), shell, z=0.2, bottom=0.5)
    place.box((broad, broad * 0.57, 0.05), shell, z=0.2, bottom=0.56, front=Material("screen", dark, repeat=0))


def desk(place: Place, taste: Taste, rng: Random, width: float) -> None:
    """A desk with drawers, a monitor and a lamp."""
    wood = taste.other_wood
    place.box((width, 0.04, 0.62), wood, z=0.32, bottom=0.72)
    place.box(
        (0.42, 0.6, 0.56), wood, x=width / 2 - 0.23, z=0.31, bottom=0.12, front=taste.front("drawers", wood.colours[0])
    )
    for z in (0.06, 0.58):
        place.box((0.05, 0.72, 0.05), wood, x=-width / 2 + 0.05, z=z)
    dark = ((30.0, 44.0, 62.0), (90.0, 120.0, 150.0), (12.0, 12.0, 14.0))
    shell = Material("metal", shades((36, 36, 38)), 0.5)
    place.box((0.52, 0.32, 0.03), shell, z=0.2, bottom=0.86, front=Material("screen", dark, repeat=0, glow=0.4))
    place.box((0.06, 0.12, 0.06), shell, z=0.16, bottom=0.76)
    place.box((0.42, 0.02, 0.15), shell, z=0.45, bottom=0.76)
    if rng.random() < 0.7:
        lamp_on(place.at(-width / 2 + 0.15, 0.2), taste, 0.76)
    for _ in range(rng.randrange(0, 4)):
        paper = taste.wooden(taste.pick(ACCENTS))
        place.at(rng.uniform(-0.4, 0.4) * width, 0.5, rng.gauss(0, 0.3)).box(
            (0.2, rng.uniform(0.02, 0.1), 0.14), paper, bottom=0.76
        )


def lamp_on(place: Place, taste: Taste, bottom: float) -> None:
    """A small lamp that stands on something."""
    place.cylinder(0.06, 0.02, taste.metal, bottom=bottom)
    place.cylinder(0.012, 0.26, taste.metal, bottom=bottom)
    place.cylinder(0.11, 0.17, SHADE, bottom=bottom + 0.22)
    place.lamp(0, 0, 0.25)


SHADE = Material("weave", ((255, 236, 196), (240, 214, 170), (210, 180, 130)), repeat=0.3, glow=0.9)
"""A lampshade with light in it."""


def floor_lamp(place: Place, taste: Taste) -> None:
    """A tall lamp."""
    place.cylinder(0.14, 0.03, taste.metal)
    place.cylinder(0.015, 1.4, taste.metal)
    place.cylinder(0.2, 0.28, SHADE, bottom=1.36)
    place.lamp(0, 0, 0.55)


def ceiling_lamp(place: Place, taste: Taste, rng: Random, ceiling: float, strength: float) -> None:
    """A lamp that hangs, or one that lies flat under the ceiling."""
    place.lamp(0, 0, strength)
    bulb = Material("plaster", ((255, 246, 224), (250, 238, 210), (230, 210, 180)), glow=1.0)
    if ceiling > 2.45 and rng.random() < 0.5:
        drop = rng.uniform(0.3, 0.6)
        place.cylinder(0.01, drop, taste.metal, bottom=ceiling - drop, solid=False)
        place.cylinder(
            0.22,
            0.2,
            SHADE if rng.random() < 0.5 else taste.wooden(taste.accent),
            bottom=ceiling - drop - 0.2,
            solid=False,
        )
        place.cylinder(0.1, 0.05, bulb, bottom=ceiling - drop - 0.22, solid=False)
    else:
        place.cylinder(0.2, 0.07, bulb, bottom=ceiling - 0.07, solid=False)


def shelf_with_boxes(place: Place, taste: Taste, rng: Random, width: float) -> None:
    """Open boards with boxes on them."""
    for level in (0.08, 0.62, 1.16, 1.7):
        place.box((width, 0.03, 0.4), taste.metal, z=0.2, bottom=level)
        x = -width / 2 + 0.05
        while x < width / 2 - 0.3 and level < 1.7:
            size = rng.uniform(0.2, 0.38)
            if rng.random() < 0.8:
                card = Material(
                    "concrete", shades(taste.pick(((186, 150, 104), (160, 124, 84), *ACCENTS[:4])), 0.9), 0.6
                )
                place.box((size, rng.uniform(0.2, 0.42), 0.34), card, x=x + size / 2, z=0.2, bottom=level + 0.03)
            x += size + 0.04
    for x in (-width / 2, width / 2):
        for z in (0.02, 0.38):
            place.box((0.03, 1.8, 0.03), taste.metal, x=x, z=z)

"""Kitchens and bathrooms."""

from __future__ import annotations

from random import Random

from bonuslab.envs.habitat.apartments.materials import Material, Taste, shades
from bonuslab.envs.habitat.apartments.solids import Place

COUNTER_DEPTH = 0.6
_PORCELAIN = Material("plaster", shades((244, 244, 242), 0.96, 0.7))
_WATER = Material("plaster", shades((186, 214, 224), 0.95))


def counter(place: Place, taste: Taste, rng: Random, width: float, with_fridge: bool, uppers: bool) -> None:
    """A kitchen along a wall: fridge, cupboards, oven, sink, and cupboards above."""
    steel = Material("metal", shades((196, 198, 202)), 0.6)
    left = -width / 2
    if with_fridge:
        colour = (222, 224, 226) if rng.random() < 0.6 else (150, 152, 156)
        height = rng.uniform(1.7, 2.0)
        place.box(
            (0.62, height, 0.62), taste.wooden(colour), x=left + 0.31, z=0.31, front=taste.front("fridge", colour)
        )
        left += 0.64
    length = width / 2 - left
    units = max(1, round(length / 0.6))
    each = length / units
    oven_at, sink_at = rng.randrange(units), rng.randrange(units)
    body = taste.wooden(taste.kitchen)
    for unit in range(units):
        x = left + (unit + 0.5) * each
        name = "oven" if unit == oven_at else rng.choice(["doors", "drawers"])
        front = taste.front(name, (206, 208, 210) if name == "oven" else taste.kitchen)
        place.box((each, 0.78, 0.56), body, x=x, z=0.28, bottom=0.08, front=front)
        if unit == oven_at:
            place.box((each - 0.06, 0.01, 0.48), Material("plaster", shades((28, 28, 32))), x=x, z=0.3, bottom=0.9)
            if uppers:
                place.box((each, 0.28, 0.4), steel, x=x, z=0.2, bottom=1.6)
        elif uppers:
            place.box((each, 0.7, 0.34), body, x=x, z=0.17, bottom=1.5, front=taste.front("doors", taste.kitchen))
        if unit == sink_at and unit != oven_at:
            place.box((each - 0.14, 0.012, 0.4), steel, x=x, z=0.3, bottom=0.9)
            place.cylinder(0.015, 0.28, steel, x=x, z=0.1, bottom=0.9)
            place.box((0.025, 0.025, 0.18), steel, x=x, z=0.18, bottom=1.16)
    place.box((length, 0.08, 0.52), taste.metal, x=left + length / 2, z=0.26)
    place.box((length, 0.04, COUNTER_DEPTH + 0.02), taste.stone, x=left + length / 2, z=0.31, bottom=0.86)
    for _ in range(rng.randrange(1, 4)):
        jar = taste.wooden(taste.pick((taste.accent, taste.second_accent, (230, 226, 214))))
        place.cylinder(
            rng.uniform(0.04, 0.08), rng.uniform(0.12, 0.26), jar, x=left + length * rng.random(), z=0.14, bottom=0.9
        )


def island(place: Place, taste: Taste, width: float) -> None:
    """A block with a worktop and stools at one side."""
    front = taste.front("doors", taste.kitchen)
    place.box((width, 0.84, 0.6), taste.wooden(taste.kitchen), bottom=0.02, front=front)
    place.box((width + 0.1, 0.05, 0.8), taste.stone, z=-0.08, bottom=0.86)
    for x in (-width / 3, width / 3):
        place.cylinder(0.025, 0.62, taste.metal, x=x, z=-0.62)
        place.cylinder(0.17, 0.05, taste.cloth(), x=x, z=-0.62, bottom=0.62)


def bathtub(place: Place, taste: Taste) -> None:
    """A tub of 1.7 metres along the wall."""
    place.box((1.7, 0.5, 0.75), _PORCELAIN, z=0.375)
    place.box((1.5, 0.012, 0.55), _WATER, z=0.375, bottom=0.5)
    place.box((1.7, 0.05, 0.08), _PORCELAIN, z=0.71, bottom=0.5)
    place.cylinder(0.02, 0.25, taste.metal, x=-0.7, z=0.1, bottom=0.55)


def shower(place: Place, taste: Taste) -> None:
    """A tray with a curtain."""
    place.box((0.9, 0.14, 0.9), _PORCELAIN, z=0.45)
    place.box((0.9, 1.8, 0.03), taste.curtain, z=0.88, bottom=0.2)
    place.box((0.94, 0.03, 0.03), taste.metal, z=0.88, bottom=2.0)
    place.cylinder(0.015, 1.9, taste.metal, z=0.05, bottom=0.14)
    place.box((0.2, 0.03, 0.2), taste.metal, z=0.16, bottom=2.02, solid=False)


def toilet(place: Place) -> None:
    """Cistern and bowl."""
    place.box((0.4, 0.42, 0.18), _PORCELAIN, z=0.1, bottom=0.4)
    place.cylinder(0.14, 0.38, _PORCELAIN, z=0.4)
    place.cylinder(0.2, 0.04, _PORCELAIN, z=0.42, bottom=0.38)


def washstand(place: Place, taste: Taste, rng: Random, width: float) -> None:
    """A basin on a cupboard, with a mirror above."""
    front = taste.front("doors" if rng.random() < 0.6 else "drawers")
    place.box((width, 0.62, 0.46), taste.wood, z=0.24, bottom=0.16, front=front)
    place.box((width + 0.02, 0.05, 0.5), taste.stone, z=0.25, bottom=0.78)
    place.cylinder(0.19, 0.11, _PORCELAIN, z=0.26, bottom=0.83, top=_WATER)
    place.cylinder(0.014, 0.24, taste.metal, z=0.06, bottom=0.83)
    mirror(place, taste, min(width, 0.8), 0.75, 1.2)


def mirror(place: Place, taste: Taste, width: float, height: float, bottom: float) -> None:
    """A mirror on a wall."""
    glass = Material("mirror", ((176, 194, 204), (226, 236, 240), taste.wood_colour), repeat=0, glow=0.15)
    place.box((width, height, 0.025), taste.wood, z=0.013, bottom=bottom, front=glass, solid=False)


def washing_machine(place: Place, taste: Taste) -> None:
    """Against the wall."""
    white = (236, 238, 240)
    place.box((0.6, 0.86, 0.58), taste.wooden(white), z=0.29, front=taste.front("washer", white))


def towel(place: Place, taste: Taste) -> None:
    """Hangs on a bar."""
    place.box((0.6, 0.02, 0.04), taste.metal, z=0.05, bottom=1.25, solid=False)
    place.box((0.44, 0.6, 0.03), taste.cloth(), z=0.06, bottom=0.66, solid=False)

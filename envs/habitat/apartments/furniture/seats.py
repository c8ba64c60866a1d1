"""Things to sit, lie and eat at."""

from __future__ import annotations

import math
from random import Random

from bonuslab.envs.habitat.apartments.materials import Material, Taste
from bonuslab.envs.habitat.apartments.solids import Place

SOFA_DEPTH = 0.9


def sofa(place: Place, taste: Taste, rng: Random, width: float) -> None:
    """A sofa with its back to the wall; an armchair, if it is narrow."""
    cloth, arm, back = taste.sofa, 0.18, rng.uniform(0.72, 0.95)
    place.box((width, 0.14, 0.8), taste.wood, z=0.45, bottom=0.04)
    place.box((width, back - 0.1, 0.24), cloth, z=0.14, bottom=0.1)
    for side in (-1, 1):
        place.box((arm, 0.5, 0.82), cloth, x=side * (width - arm) / 2, z=0.46, bottom=0.1)
    seats = max(1, round((width - 2 * arm) / 0.7))
    each = (width - 2 * arm) / seats
    for number in range(seats):
        x = -width / 2 + arm + (number + 0.5) * each
        place.box((each - 0.02, 0.2, 0.62), cloth, x=x, z=0.56, bottom=0.24)
        if rng.random() < 0.6:
            place.at(x + rng.uniform(-0.1, 0.1), 0.33, rng.uniform(-0.3, 0.3)).box(
                (0.4, 0.36, 0.12), taste.cushion, bottom=0.44
            )


def chair(place: Place, taste: Taste, seat: Material, slatted: bool) -> None:
    """A chair that looks along +z, its centre at the spot."""
    wood = taste.wood
    for x in (-0.18, 0.18):
        for z in (-0.18, 0.18):
            place.box((0.04, 0.44, 0.04), wood, x=x, z=z)
    place.box((0.42, 0.05, 0.42), seat, bottom=0.43)
    back = taste.front("slats") if slatted else seat
    place.box((0.42, 0.44, 0.04), back, z=-0.2, bottom=0.48)


def table(place: Place, top: Material, legs: Material, width: float, depth: float, height: float = 0.74) -> None:
    """Four legs and a top."""
    place.box((width, 0.04, depth), top, bottom=height - 0.04)
    for x in (-width / 2 + 0.06, width / 2 - 0.06):
        for z in (-depth / 2 + 0.06, depth / 2 - 0.06):
            place.box((0.06, height - 0.04, 0.06), legs, x=x, z=z)


def round_table(place: Place, top: Material, legs: Material, radius: float, height: float) -> None:
    """A disc on a column."""
    place.cylinder(radius, 0.04, top, bottom=height - 0.04)
    place.cylinder(0.05, height - 0.04, legs)
    place.cylinder(radius * 0.5, 0.03, legs)


def dining_group(place: Place, taste: Taste, rng: Random, width: float, depth: float) -> None:
    """A table with chairs pushed under it; it needs about 0.35 metres more on every side."""
    seat, slatted = taste.cloth(), rng.random() < 0.5
    is_round = width == depth
    if is_round:
        round_table(place, taste.other_wood, taste.wood, width / 2, 0.74)
    else:
        table(place, taste.other_wood, taste.wood, width, depth)
    per_side = max(1, round(width / 0.62))
    for side in (-1, 1):
        for number in range(1 if is_round else per_side):
            x = 0.0 if is_round else (number + 0.5) * width / per_side - width / 2
            spot = place.at(x, side * (depth / 2 + 0.12), math.pi if side > 0 else 0.0)
            chair(spot.at(0, 0, rng.gauss(0, 0.08)), taste, seat, slatted)
    if is_round or width > 1.5:
        for side in (-1, 1):
            chair(place.at(side * (width / 2 + 0.12), 0.0, -side * math.pi / 2), taste, seat, slatted)
    if rng.random() < 0.7:
        bowl = taste.wooden(taste.accent)
        place.cylinder(0.14, 0.09, bowl, bottom=0.74)


def bed(place: Place, taste: Taste, rng: Random, width: float) -> None:
    """Headboard at the wall, 2.1 metres long."""
    head = rng.uniform(0.8, 1.2)
    board = taste.sofa if rng.random() < 0.4 else taste.wood
    place.box((width + 0.06, head, 0.07), board, z=0.04)
    place.box((width, 0.18, 2.0), taste.wood, z=1.07, bottom=0.12)
    place.box((width - 0.04, 0.2, 1.96), taste.wooden((236, 234, 228)), z=1.07, bottom=0.3)
    place.box((width + 0.02, 0.1, 1.5), taste.bedding, z=1.32, bottom=0.42)
    pillow = taste.cushion if rng.random() < 0.4 else taste.wooden((240, 238, 234))
    count = 2 if width > 1.2 else 1
    for number in range(count):
        x = (number - (count - 1) / 2) * width / 2
        place.at(x, 0.33, rng.gauss(0, 0.06)).box((width / count - 0.16, 0.13, 0.38), pillow, bottom=0.5)


def office_chair(place: Place, taste: Taste) -> None:
    """A seat on a column with a star foot."""
    dark = taste.metal
    place.box((0.5, 0.04, 0.08), dark)
    place.box((0.08, 0.04, 0.5), dark)
    place.cylinder(0.03, 0.42, dark)
    place.cylinder(0.25, 0.08, taste.sofa, bottom=0.42)
    place.box((0.42, 0.5, 0.06), taste.sofa, z=-0.22, bottom=0.55)

"""Pictures, plants, rugs and small tables."""

from __future__ import annotations

from random import Random

from bonuslab.envs.habitat.apartments.furniture.storage import lamp_on
from bonuslab.envs.habitat.apartments.looks.pictures import NUM_PAINTINGS
from bonuslab.envs.habitat.apartments.materials import PICTURE, Material, Taste, shades
from bonuslab.envs.habitat.apartments.placing import RoomFloor
from bonuslab.envs.habitat.apartments.solids import Place

_WIDEST_LEAVES = 0.7
"""Metres: what is wider would come out on the other side of the wall that a plant stands at."""


def painting(place: Place, taste: Taste, rng: Random, width: float) -> None:
    """A picture on a wall."""
    canvas = Material(f"painting{rng.randrange(NUM_PAINTINGS)}", PICTURE, repeat=0)
    height = width * rng.choice([0.75, 1.0, 1.25])
    place.box((width, height, 0.03), taste.wood, z=0.016, bottom=1.55 - height / 2, front=canvas, solid=False)


def plant(place: Place, taste: Taste, rng: Random) -> None:
    """A pot with leaves that cross each other."""
    pot = rng.uniform(0.25, 0.42)
    radius = rng.uniform(0.13, 0.19)
    place.cylinder(radius, pot, taste.wooden(taste.pick((taste.accent, (196, 120, 84), (226, 224, 218), (90, 92, 96)))))
    green = (
        ((60, 104, 52), (110, 150, 74), (44, 70, 40))
        if rng.random() < 0.7
        else ((46, 92, 80), (120, 164, 130), (34, 62, 54))
    )
    leaf = Material(rng.choice(["leaves", "foliage"]), green, repeat=0)
    size = rng.uniform(0.7, 1.2)
    width = min(0.75 * size, _WIDEST_LEAVES)
    for turn in (0.2, 1.25, 2.3):
        place.at(0, 0, turn).box((width, size, 0.012), leaf, bottom=pot - 0.04, solid=False)


def rug(floor: RoomFloor, place: Place, taste: Taste, width: float, depth: float) -> None:
    """Lies flat, stops nobody, and ends where the room ends."""
    spot, width, depth = floor.cut_to_room(place, width, depth)
    spot.box((width, 0.012, depth), taste.rug(), solid=False)


def nightstand(place: Place, taste: Taste, rng: Random) -> None:
    """A small cupboard, often with a lamp."""
    place.box((0.42, 0.4, 0.36), taste.wood, z=0.2, bottom=0.1, front=taste.front("drawers"))
    if rng.random() < 0.75:
        lamp_on(place.at(0.0, 0.2), taste, 0.5)


def crate(place: Place, taste: Taste, rng: Random) -> None:
    """A cardboard box on the floor."""
    card = Material("concrete", shades((188, 152, 106), 0.9, 0.7), 0.6)
    size = rng.uniform(0.35, 0.5)
    place.box((size, size * 0.8, size), card, z=size / 2)


def hang_paintings(floor: RoomFloor, taste: Taste, most: int) -> None:
    """Up to so many pictures on free stretches of wall."""
    for _ in range(floor.rng.randrange(0, most + 1)):
        width = floor.rng.uniform(0.4, 1.0)
        spot = floor.on_wall(width)
        if spot:
            painting(spot, taste, floor.rng, width)


def put_plants(floor: RoomFloor, taste: Taste, most: int) -> None:
    """Up to so many plants along the walls."""
    for _ in range(floor.rng.randrange(0, most + 1)):
        spot = floor.against_wall(0.45, 0.45)
        if spot:
            plant(spot.at(0, 0.24), taste, floor.rng)

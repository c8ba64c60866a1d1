"""Time of day, and a light map computed once per scene."""

from __future__ import annotations

import math
from random import Random
from typing import NamedTuple

import numpy as np
from scipy.ndimage import uniform_filter

from bonuslab.envs.habitat.apartments.geometry import MARGIN, PATCH, grid_shape, patches_of
from bonuslab.envs.habitat.apartments.materials import Colour
from bonuslab.envs.habitat.apartments.plan import ApartmentPlan, Rectangle


class Daylight(NamedTuple):
    """What comes in through the windows."""

    strength: float
    """0 at night."""
    towards: tuple[float, float]
    """Horizontal direction (x, z) of the light: faces turned to it are brighter."""
    tint: tuple[float, float, float]
    sky: Colour
    ground: Colour


def draw_daylight(rng: Random) -> Daylight:
    """Night, an overcast day, or a sunny one."""
    kind, angle = rng.random(), rng.uniform(0, 2 * math.pi)
    towards = math.cos(angle), math.sin(angle)
    if kind < 0.14:
        return Daylight(0.0, towards, (1.04, 0.97, 0.84), (18, 20, 40), (40, 40, 52))
    ground = rng.choice([(96, 124, 70), (150, 132, 110), (60, 104, 140), (190, 176, 140), (110, 112, 116)])
    if kind < 0.45:
        return Daylight(rng.uniform(0.5, 0.8), towards, (0.98, 1.0, 1.03), (206, 214, 222), ground)
    warmth = rng.uniform(0, 0.06)
    return Daylight(rng.uniform(0.8, 1.1), towards, (1 + warmth, 1.0, 1 - warmth), (128, 182, 240), ground)


def lamp_spots(room: Rectangle) -> list[tuple[float, float]]:
    """(x, z) of a room's ceiling lamps: one every 4.5 metres along its longer side."""
    count = max(1, round(max(room.width, room.depth) / 4.5))
    (x, z), shares = room.centre, [(number + 0.5) / count for number in range(count)]
    if room.width > room.depth:
        return [(room.x0 + share * room.width, z) for share in shares]
    return [(x, room.z0 + share * room.depth) for share in shares]


def bake(plan: ApartmentPlan, daylight: Daylight) -> np.ndarray:
    """[rows, columns] float32: brightness of each patch, about 1 where it is well lit."""
    bounds = plan.bounds.grown(MARGIN)
    light = np.full(grid_shape(plan, PATCH), 0.42 if daylight.strength else 0.3)
    for number, room in enumerate(plan.rooms):
        sources = [(x, z, 0.4 if daylight.strength else 0.8) for x, z in lamp_spots(room)]
        for wall in plan.walls_of(number):
            for opening in (each for each in wall.openings if each.kind == "window"):
                along = (opening.low + opening.high) / 2
                area = (opening.high - opening.low) * (opening.top - opening.bottom)
                strength = daylight.strength * min(0.75, 0.32 * area)
                sources.append((along, wall.at, strength) if wall.axis == 0 else (wall.at, along, strength))
        rows, columns = patches_of(plan, room)
        z, x = np.mgrid[rows, columns] * PATCH + PATCH / 2
        for source_x, source_z, strength in sources:  # light stays in its room
            away = (bounds.x0 + x - source_x) ** 2 + (bounds.z0 + z - source_z) ** 2
            light[rows, columns] += strength / (1.0 + away / 5.0)
    light = uniform_filter(light, 5)  # smooths the edges at doors
    return (1.2 * (1.0 - np.exp(-1.25 * light))).astype(np.float32)  # tone mapping: bright is not white

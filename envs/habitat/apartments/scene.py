"""Builds an apartment from its number."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Final

import numpy as np

from bonuslab.envs.habitat.apartments.furniture import furnish, hang_lamps
from bonuslab.envs.habitat.apartments.geometry import Geometry, make_geometry
from bonuslab.envs.habitat.apartments.lighting import bake, draw_daylight
from bonuslab.envs.habitat.apartments.materials import Material, Palette
from bonuslab.envs.habitat.apartments.navigation import block, cells_of, largest_part, open_map
from bonuslab.envs.habitat.apartments.openings import draw_plan
from bonuslab.envs.habitat.apartments.placing import RoomFloor
from bonuslab.envs.habitat.apartments.plan import ApartmentPlan
from bonuslab.envs.habitat.apartments.solids import Solids
from bonuslab.envs.habitat.apartments.walls import Doorways, build_walls
from bonuslab.envs.habitat.simulator import NavigableMap

NUM_APARTMENTS: Final = 1000
_KEPT: Final = 24
"""Scenes cached in memory, about 0.2 MB each."""
_ATTEMPTS: Final = 3
_MOST_OUT_OF_REACH: Final = 0.12
"""Largest fraction of a room's free floor that furniture may cut off."""


@dataclass(frozen=True, slots=True)
class Apartment:
    """A finished scene."""

    number: int
    plan: ApartmentPlan
    geometry: Geometry
    map: NavigableMap


@lru_cache(maxsize=_KEPT)
def apartment(number: int) -> Apartment:
    """Apartment `number`; the same number always gives the same apartment."""
    plan = draw_plan(_random(number, "plan"))
    rng = _random(number, "looks")
    palette, daylight = Palette(rng), draw_daylight(rng)
    floors, walls = [palette.floor(kind) for kind in plan.kinds], [palette.wall(kind) for kind in plan.kinds]
    solids = Solids()
    ceiling = solids.number_of(palette.ceiling)
    floor_numbers = [solids.number_of(material) for material in floors]
    view = Material("window", (daylight.sky, daylight.ground, palette.trim.colours[0]), repeat=0, glow=1.0)
    doorways = build_walls(solids, plan, palette, walls, view, rng)
    free = _furnish(number, plan, solids, doorways, palette)
    light = bake(plan, daylight)
    geometry = make_geometry(plan, solids, floor_numbers, ceiling, light, daylight.tint, daylight.towards)
    return Apartment(number, plan, geometry, free)


def _random(number: int, *purpose: object) -> Random:
    """An independent random stream for one purpose."""
    return Random(f"apartment {number} {purpose}")


def _furnish(number: int, plan: ApartmentPlan, solids: Solids, doorways: Doorways, palette: Palette) -> NavigableMap:
    """Furnish each room; one whose furniture blocks the way is furnished again, and left empty if that fails."""
    whole = open_map(plan)
    block(whole, solids)
    for room in range(len(plan.rooms)):
        for attempt in range(_ATTEMPTS):
            before = len(solids)
            floor = RoomFloor(solids, plan, room, doorways, _random(number, "furniture", room, attempt))
            furnish(floor, palette)
            tried = NavigableMap(whole.navigable.copy(), whole.x0, whole.z0)
            block(tried, solids, before)
            if _is_walkable(tried.navigable[cells_of(tried, plan.rooms[room])]):
                whole = tried
                break
            solids.truncate(before)
        hang_lamps(floor, plan.ceiling)
    return NavigableMap(largest_part(whole.navigable), whole.x0, whole.z0)


def _is_walkable(part: np.ndarray) -> bool:
    """Whether all of a room's doors and nearly all of its free floor are connected."""
    reached = largest_part(part)
    for edge in (np.s_[0], np.s_[-1], np.s_[:, 0], np.s_[:, -1]):  # free cells at the edge of a room are doorways
        if np.count_nonzero(part[edge] & ~reached[edge]):
            return False
    return np.count_nonzero(reached) >= (1 - _MOST_OUT_OF_REACH) * np.count_nonzero(part)

"""Puts an apartment together from its number."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Final

import numpy as np

from bonuslab.envs.habitat.apartments.furniture.rooms import furnish, hang_lamps
from bonuslab.envs.habitat.apartments.geometry import Geometry, make_geometry
from bonuslab.envs.habitat.apartments.lighting import bake, draw_daylight
from bonuslab.envs.habitat.apartments.materials import Taste
from bonuslab.envs.habitat.apartments.navigation import block, cells_of, largest_part, open_map
from bonuslab.envs.habitat.apartments.openings import draw_plan
from bonuslab.envs.habitat.apartments.placing import RoomFloor
from bonuslab.envs.habitat.apartments.plan import Plan
from bonuslab.envs.habitat.apartments.solids import Solids
from bonuslab.envs.habitat.apartments.walls import Shell, build_shell
from bonuslab.envs.habitat.simulator import NavigableMap

NUM_APARTMENTS: Final = 1000
_KEPT: Final = 24
"""Scenes that stay in memory, about 0.3 MB each."""
_ATTEMPTS: Final = 3
_MOST_OUT_OF_REACH: Final = 0.12
"""Share of a room's free floor that may lie behind furniture; otherwise some of it is taken out."""


@dataclass(frozen=True, slots=True)
class Apartment:
    """A finished scene."""

    number: int
    plan: Plan
    geometry: Geometry
    map: NavigableMap


@lru_cache(maxsize=_KEPT)
def apartment(number: int) -> Apartment:
    """Apartment `number`, always the same."""
    plan = draw_plan(_random(number, "plan"))
    rng = _random(number, "looks")
    taste, daylight = Taste(rng), draw_daylight(rng)
    floors, walls = [taste.floor(kind) for kind in plan.kinds], [taste.wall(kind) for kind in plan.kinds]
    solids = Solids()
    ceiling = solids.number_of(taste.ceiling)
    floor_numbers = [solids.number_of(material) for material in floors]
    shell = build_shell(solids, plan, taste, walls, daylight.sky, rng)
    free = _furnish(number, plan, solids, shell, taste)
    light = bake(plan, solids, shell.windows, daylight)
    key = daylight.sun_x, daylight.sun_z
    geometry = make_geometry(plan, solids, floor_numbers, ceiling, light, daylight.tint, key)
    return Apartment(number, plan, geometry, free)


def _random(number: int, *purpose: object) -> Random:
    """Random numbers for one purpose."""
    return Random(f"apartment {number} {purpose}")


def _furnish(number: int, plan: Plan, solids: Solids, shell: Shell, taste: Taste) -> NavigableMap:
    """Furnish room after room; one that its furniture makes hard to walk is furnished anew, at last not at all."""
    whole = open_map(plan)
    block(whole, solids)
    for room in range(len(plan.rooms)):
        hang_lamps(RoomFloor(solids, plan, room, shell, _random(number, "lamps", room)), taste)
        before = solids.mark()
        for attempt in range(_ATTEMPTS):
            furnish(RoomFloor(solids, plan, room, shell, _random(number, "furniture", room, attempt)), taste)
            tried = NavigableMap(whole.navigable.copy(), whole.x0, whole.z0)
            block(tried, solids, before[0])
            if _is_walkable(tried.navigable[cells_of(tried, plan.rooms[room])]):
                whole = tried
                break
            solids.cut_back(before)
    return NavigableMap(largest_part(whole.navigable), whole.x0, whole.z0)


def _is_walkable(part: np.ndarray) -> bool:
    """Whether all of a room's doors and nearly all of its free floor hang together."""
    reached = largest_part(part)
    for edge in (np.s_[0], np.s_[-1], np.s_[:, 0], np.s_[:, -1]):  # free cells at the edge of a room are doorways
        if np.count_nonzero(part[edge] & ~reached[edge]):
            return False
    return np.count_nonzero(reached) >= (1 - _MOST_OUT_OF_REACH) * np.count_nonzero(part)

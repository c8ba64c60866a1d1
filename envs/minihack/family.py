"""MiniHack as a family of environments."""

from __future__ import annotations

from typing import Any

from bonuslab.envs.errors import unknown
from bonuslab.envs.lanes import Lanes
from bonuslab.envs.minihack.contexts import parse_count
from bonuslab.envs.minihack.lanes import MiniHackLanes
from bonuslab.envs.minihack.tasks import task

_SETTINGS = ("contexts", "seed", "held_out", "stream", "max_steps")


class MiniHackFamily:
    """Every task of `bonuslab tasks`, the parametric ones included; see `envs.family.Family`."""

    name = "minihack"

    def canonical_name(self, name: str) -> str:
        """`MultiRoom-N6` is `MiniHack-MultiRoom-N6-v0`."""
        return task(name).name

    def check_contexts(self, name: str, contexts: str) -> None:
        """Any number from 1, or `inf`."""
        parse_count(contexts)

    def make_lanes(self, name: str, num_lanes: int, **settings: Any) -> Lanes:
        """N games; besides what every family understands, `max_steps`."""
        for setting in settings:
            if setting not in _SETTINGS:
                raise unknown("environment setting", setting, _SETTINGS)
        return MiniHackLanes(name, num_lanes, **settings)


FAMILY = MiniHackFamily()

"""Montezuma's Revenge as a family of environments, with one member."""

from __future__ import annotations

from typing import Any

from bonuslab.envs.errors import unknown
from bonuslab.envs.lanes import Lanes
from bonuslab.envs.montezuma.lanes import MontezumaLanes
from bonuslab.envs.montezuma.seeds import check_contexts

NAME = "MontezumaRevenge"
_SETTINGS = (
    *("contexts", "seed", "held_out", "stream"),
    *("max_steps", "sticky", "sticky_probability", "processes"),
)


class MontezumaFamily:
    """`MontezumaRevenge`, in any capitals, or `montezuma` for short; see `envs.family.Family`."""

    name = "montezuma"

    def canonical_name(self, name: str) -> str:
        """`montezuma` is `MontezumaRevenge`."""
        if str(name).strip().lower() not in ("montezuma", NAME.lower()):
            raise unknown("environment", name, [NAME])
        return NAME

    def check_contexts(self, name: str, contexts: str) -> None:
        """One."""
        check_contexts(contexts)

    def make_lanes(self, name: str, num_lanes: int, **settings: Any) -> Lanes:
        """N games; besides what every family understands, `processes` and the fields of `Rules`."""
        self.canonical_name(name)
        for setting in settings:
            if setting not in _SETTINGS:
                raise unknown("environment setting", setting, _SETTINGS)
        return MontezumaLanes(num_lanes, **settings)


FAMILY = MontezumaFamily()

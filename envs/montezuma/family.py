"""Montezuma's Revenge as a family of one environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bonuslab.envs.errors import check_integer, unknown
from bonuslab.envs.family import Album, reject_unknown_settings
from bonuslab.envs.montezuma.env import MontezumaEnv
from bonuslab.envs.montezuma.episode import Rules
from bonuslab.envs.montezuma.game import NAME, action_names
from bonuslab.envs.montezuma.seeds import check_contexts
from bonuslab.envs.montezuma.vector_env import MontezumaVectorEnv
from bonuslab.envs.vector_env import VectorEnv

_RULES = ("max_steps", "sticky", "sticky_probability")


class MontezumaFamily:
    """`MontezumaRevenge`, or `montezuma` for short; case-insensitive. See `envs.family.Family`."""

    name = "montezuma"
    settings = (*_RULES, "processes")
    many_contexts = False

    def canonical_name(self, name: str) -> str:
        """`montezuma` is `MontezumaRevenge`."""
        if str(name).strip().lower() not in ("montezuma", NAME.lower()):
            raise unknown("environment", name, [NAME])
        return NAME

    def check_settings(self, name: str, **settings: Any) -> None:
        """There is one context; the settings are `processes` and the fields of `Rules`."""
        self.canonical_name(name)
        reject_unknown_settings(settings, self.settings)
        check_contexts(settings.get("contexts"))
        check_integer("processes", settings.get("processes", 0), 0)
        Rules(**{rule: settings[rule] for rule in _RULES if rule in settings})

    def make_vector_env(self, name: str, num_envs: int, **settings: Any) -> VectorEnv:
        """N games."""
        self.canonical_name(name)
        reject_unknown_settings(settings, self.settings)
        return MontezumaVectorEnv(num_envs, **settings)

    def make_env(self, name: str, **settings: Any) -> MontezumaEnv:
        """One game, in this process."""
        self.canonical_name(name)
        reject_unknown_settings(settings, self.settings)
        settings.pop("processes", None)
        return MontezumaEnv(**settings)

    def action_names(self, name: str) -> Sequence[str]:
        """Positions of the joystick and button."""
        return [name.lower() for name in action_names()]

    def album(self) -> Album:
        """Screens next to the map of rooms."""
        from bonuslab.envs.montezuma.album import MontezumaAlbum  # few users draw pictures

        return MontezumaAlbum()


FAMILY = MontezumaFamily()

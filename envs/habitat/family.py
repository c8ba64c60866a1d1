"""The Habitat family: `Apartments`, `Apartments-64`, ..., `HM3D`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym

from bonuslab.envs.errors import InvalidInput, check_integer, unknown
from bonuslab.envs.family import Album, ScriptedAgent, reject_unknown_settings
from bonuslab.envs.habitat.backends import DATA_SETTINGS, find_scenes
from bonuslab.envs.habitat.contexts import HabitatContexts
from bonuslab.envs.habitat.coverage import COVERAGES
from bonuslab.envs.habitat.env import HabitatEnv
from bonuslab.envs.habitat.simulator import Action
from bonuslab.envs.habitat.spaces import check_flag, check_max_steps, check_size, observation_space
from bonuslab.envs.habitat.vector_env import HabitatVectorEnv
from bonuslab.envs.vector_env import VectorEnv

_NAMES = {"apartments": ("Apartments", 128), "hm3d": ("HM3D", 256)}
"""Back end -> name and default image size: the paper's for HM3D, one that suits a CPU for apartments."""


class HabitatFamily:
    """Names are a back end and an image size in pixels, `Apartments-64`; see `envs.family.Family`."""

    name = "habitat"
    settings = ("max_steps", "split", "stop_ends_episode", "coverage", "scene_steps", "stagger", *DATA_SETTINGS)
    many_contexts = True

    def canonical_name(self, name: str) -> str:
        """`apartments` is `Apartments-128`, `hm3d` is `HM3D-256`."""
        backend, size = _parse(name)
        return f"{_NAMES[backend][0]}-{size}"

    def check_settings(self, name: str, **settings: Any) -> None:
        """Reject invalid settings, too many contexts, a missing simulator, and missing or broken data."""
        backend, _ = _parse(name)
        reject_unknown_settings(settings, self.settings)
        for flag in ("stop_ends_episode", "stagger"):
            check_flag(flag, settings.get(flag, False))
        if settings.get("max_steps") is not None:
            check_max_steps(settings["max_steps"])
        if settings.get("coverage", COVERAGES[0]) not in COVERAGES:
            raise unknown("coverage", settings["coverage"], COVERAGES)
        check_integer("scene_steps", settings.get("scene_steps") or 0, 0)
        scenes = find_scenes(backend, **{name: settings[name] for name in DATA_SETTINGS if name in settings})
        HabitatContexts(scenes, settings.get("contexts"), split=settings.get("split"))
        scenes.check()

    def observation_space(self, name: str, **settings: Any) -> gym.spaces.Dict:
        """Depends on the size alone."""
        return observation_space(_parse(name)[1])

    def make_vector_env(self, name: str, num_envs: int, **settings: Any) -> VectorEnv:
        """N environments."""
        backend, size = _parse(name)
        reject_unknown_settings(settings, self.settings)
        return HabitatVectorEnv(backend, num_envs, size=size, **settings)

    def make_env(self, name: str, **settings: Any) -> HabitatEnv:
        """One environment."""
        backend, size = _parse(name)
        reject_unknown_settings(settings, self.settings)
        settings.pop("stagger", None)
        return HabitatEnv(backend, size=size, **settings)

    def action_names(self, name: str) -> Sequence[str]:
        """stop, forward, left, right."""
        return [action.name.lower() for action in Action]

    def scripted_agent(self, name: str, seed: int) -> ScriptedAgent:
        """Walks to the nearest frontier of what it has seen."""
        from bonuslab.envs.habitat.explorer import frontier_policy

        policy = frontier_policy()
        return lambda _, env: int(policy(env))

    def album(self) -> Album:
        """Views next to the map of what was seen."""
        from bonuslab.envs.habitat.album import HabitatAlbum  # rarely used: saves importing PIL

        return HabitatAlbum()


def _parse(name: str) -> tuple[str, int]:
    """(back end, image size)."""
    backend, dash, digits = str(name).strip().lower().partition("-")
    known = [f"{written}-{size}" for written, _ in _NAMES.values() for size in (64, 128, 256)]
    if backend not in _NAMES or (dash and not (digits.isascii() and digits.isdigit())):
        raise unknown("environment", name, [*known, *(written for written, _ in _NAMES.values())])
    try:
        return backend, check_size(int(digits)) if dash else _NAMES[backend][1]
    except InvalidInput as error:
        raise InvalidInput(f"environment {name!r}: {error}") from None


FAMILY = HabitatFamily()

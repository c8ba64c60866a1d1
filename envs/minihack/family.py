"""MiniHack as a family of environments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym

from bonuslab.envs.contexts import parse_count
from bonuslab.envs.errors import check_flag, check_integer
from bonuslab.envs.family import Album, ScriptedAgent, reject_unknown_settings
from bonuslab.envs.minihack.contexts import check_winnable_within
from bonuslab.envs.minihack.env import MiniHackEnv
from bonuslab.envs.minihack.episode import check_penalty_step
from bonuslab.envs.minihack.spaces import observation_space
from bonuslab.envs.minihack.tasks import task
from bonuslab.envs.minihack.vector_env import MiniHackVectorEnv
from bonuslab.envs.vector_env import VectorEnv


class MiniHackFamily:
    """Every task of `bonuslab tasks`, including the parametric ones; see `envs.family.Family`."""

    name = "minihack"
    settings = ("max_steps", "penalty_step", "winnable_within", "stagger")
    many_contexts = True

    def canonical_name(self, name: str) -> str:
        """`MultiRoom-N6` is `MiniHack-MultiRoom-N6-v0`."""
        return task(name).name

    def check_settings(self, name: str, **settings: Any) -> None:
        """`contexts` is a number from 1, or `inf`."""
        task(name)
        reject_unknown_settings(settings, self.settings)
        parse_count(settings.get("contexts"))
        if settings.get("max_steps") is not None:
            check_integer("max_steps", settings["max_steps"], 1)
        if settings.get("penalty_step") is not None:
            check_penalty_step(settings["penalty_step"])
        check_winnable_within(settings.get("winnable_within"), settings.get("contexts"))
        check_flag("stagger", settings.get("stagger", False))

    def observation_space(self, name: str, **settings: Any) -> gym.spaces.Dict:
        """The same for all tasks."""
        return observation_space()

    def make_vector_env(self, name: str, num_envs: int, **settings: Any) -> VectorEnv:
        """N games."""
        reject_unknown_settings(settings, self.settings)
        return MiniHackVectorEnv(name, num_envs, **settings)

    def make_env(self, name: str, **settings: Any) -> MiniHackEnv:
        """One game."""
        reject_unknown_settings(settings, self.settings)
        settings.pop("stagger", None)
        return MiniHackEnv(name, **settings)

    def action_names(self, name: str) -> Sequence[str]:
        """NetHack's names of the task's actions."""
        return task(name).action_names

    def scripted_agent(self, name: str, seed: int) -> ScriptedAgent:
        """Walks to what it has not seen, and uses the task's item."""
        from bonuslab.envs.minihack.explorer import Explorer

        explorer = Explorer(task(name).actions, seed)
        return lambda observation, _: explorer.act(observation)

    def album(self) -> Album:
        """Maps as tiles."""
        from bonuslab.envs.minihack.album import MiniHackAlbum  # few users draw pictures

        return MiniHackAlbum()


FAMILY = MiniHackFamily()

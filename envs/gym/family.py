"""Gymnasium environments as a family: ids, classes, functions, and names that users and RLlib register."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym

from bonuslab.envs.contexts import parse_count
from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.family import COMMON_SETTINGS, Album
from bonuslab.envs.gym.actions import MAX_ACTIONS, ActionLayout
from bonuslab.envs.gym.env import GymEnv
from bonuslab.envs.gym.episode import check_won
from bonuslab.envs.gym.making import OWN_SETTINGS, Maker, find_maker
from bonuslab.envs.gym.observations import ObservationLayout
from bonuslab.envs.gym.registry import MakeEnv, name_of
from bonuslab.envs.gym.vector_env import GymVectorEnv
from bonuslab.envs.vector_env import VectorEnv

_MAX_CHECKED = 1000


class GymFamily:
    """Every Gymnasium environment with discrete actions; see `envs.family.Family`.

    Settings that are not `max_episode_steps`, `won` or `stagger` are keyword arguments of the environment.
    """

    name = "gym"
    settings: tuple[str, ...] = OWN_SETTINGS
    many_contexts = True

    def __init__(self) -> None:
        self._checked: dict[tuple[Any, str], gym.spaces.Dict] = {}

    def canonical_name(self, name: str | MakeEnv) -> str:
        """`cartpole` is `CartPole-v1`; a class or function is `module:name`."""
        return _maker(name).name

    def default_preset(self, name: str | MakeEnv) -> str:
        """`minigrid` for MiniGrid and BabyAI, `classic` for others."""
        return "minigrid" if _maker(name).name.lower().startswith(("minigrid-", "babyai-")) else "classic"

    def check_settings(self, name: str | MakeEnv, **settings: Any) -> None:
        """Make one environment with these settings: its constructor and its spaces are the check."""
        maker = _maker(name)
        parse_count(settings.get("contexts"))
        own = _own(settings)
        check_won(maker.won(own))
        maker.stagger(own)
        key = _key(maker, own)
        if key in self._checked:  # a grid has many trials of one environment
            return
        env = maker.make(own)
        try:
            space = ObservationLayout(maker.name, env).space
            ActionLayout(maker.name, env.action_space)
        finally:
            env.close()
        if len(self._checked) < _MAX_CHECKED:
            self._checked[key] = space

    def observation_space(self, name: str | MakeEnv, **settings: Any) -> gym.spaces.Dict | None:
        """What `check_settings` sees."""
        self.check_settings(name, **settings)
        return self._checked.get(_key(_maker(name), _own(settings)))

    def make_vector_env(self, name: str | MakeEnv, num_envs: int, **settings: Any) -> VectorEnv:
        """N environments."""
        return GymVectorEnv(_maker(name), num_envs, **settings)

    def make_env(self, name: str | MakeEnv, **settings: Any) -> GymEnv:
        """One environment."""
        return GymEnv(_maker(name), **settings)

    def action_names(self, name: str | MakeEnv) -> Sequence[str]:
        """Those of the environment with its default settings; numbers where it cannot be made with these."""
        maker = _maker(name)
        try:
            env = maker.make({})
        except InvalidInput:
            return [str(action) for action in range(MAX_ACTIONS)]
        try:
            return ActionLayout(maker.name, env.action_space).names(env)
        finally:
            env.close()

    def scripted_agent(self, name: str | MakeEnv, seed: int) -> None:
        """None."""

    def album(self) -> Album:
        """The environment's own pictures."""
        from bonuslab.envs.gym.album import GymAlbum  # few users draw pictures

        return GymAlbum()


def _maker(name: str | MakeEnv) -> Maker:
    text = name_of(name)
    maker = find_maker(text)
    if maker is None:
        raise InvalidInput(f"unknown environment {text!r}")
    return maker


def _key(maker: Maker, own: Mapping[str, Any]) -> tuple[Any, str]:
    return maker.target, f"{maker.name} {sorted(own.items())}"


def _own(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name not in COMMON_SETTINGS}


FAMILY = GymFamily()

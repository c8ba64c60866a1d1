"""Atari games as a family of environments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym

from bonuslab.envs.atari.env import AtariEnv
from bonuslab.envs.atari.episode import Rules
from bonuslab.envs.atari.game import game_actions
from bonuslab.envs.atari.games import find_game
from bonuslab.envs.atari.seeds import check_contexts
from bonuslab.envs.atari.spaces import observation_space
from bonuslab.envs.atari.vector_env import AtariVectorEnv
from bonuslab.envs.errors import check_integer
from bonuslab.envs.family import Album, reject_unknown_settings
from bonuslab.envs.vector_env import VectorEnv

_RULES = ("max_steps", "sticky", "sticky_probability")


class AtariFamily:
    """`MontezumaRevenge`, `Pong`, `ALE/Pong-v5`, …; see `find_game` for names and `envs.family.Family`.

    All games are preprocessed alike: frame skip 4, the maximum of the last two screens, 84 × 84 in grey, 4 frames;
    sticky actions (0.25), at most 4,500 steps; no random no-ops at the start, no automatic FIRE, no end of the episode
    with a life. Actions are those that have an effect in the game; rewards are its points. `ale_py:ALE/Pong-v5` is
    Gymnasium's own environment, without all this.
    """

    name = "atari"
    settings = (*_RULES, "processes")
    many_contexts = False

    def canonical_name(self, name: str) -> str:
        """`montezuma` is `MontezumaRevenge`."""
        return find_game(name).name

    def check_settings(self, name: str, **settings: Any) -> None:
        """There is one context; the settings are `processes` and the fields of `Rules`."""
        game = find_game(name)
        reject_unknown_settings(settings, self.settings)
        check_contexts(settings.get("contexts"), game.name)
        check_integer("processes", settings.get("processes", 0), 0)
        Rules(**{rule: settings[rule] for rule in _RULES if rule in settings})

    def observation_space(self, name: str, **settings: Any) -> gym.spaces.Dict:
        """`room` and `position` only where the game's memory is known."""
        return observation_space(find_game(name))

    def make_vector_env(self, name: str, num_envs: int, **settings: Any) -> VectorEnv:
        """N envs of the game."""
        reject_unknown_settings(settings, self.settings)
        return AtariVectorEnv(name, num_envs, **settings)

    def make_env(self, name: str, **settings: Any) -> AtariEnv:
        """One env, in this process."""
        reject_unknown_settings(settings, self.settings)
        settings.pop("processes", None)
        return AtariEnv(name, **settings)

    def action_names(self, name: str) -> Sequence[str]:
        """Positions of the joystick and button."""
        return [action.lower() for action in game_actions(find_game(name))]

    def scripted_agent(self, name: str, seed: int) -> None:
        """None."""

    def album(self) -> Album:
        """Screens; of Montezuma's Revenge next to the map of rooms."""
        from bonuslab.envs.atari.album import AtariAlbum  # few users draw pictures

        return AtariAlbum()


FAMILY = AtariFamily()

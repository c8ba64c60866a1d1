"""An Atari game as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from bonuslab.envs.atari.episode import AtariEpisode, Rules
from bonuslab.envs.atari.game import game_actions
from bonuslab.envs.atari.games import find_game
from bonuslab.envs.atari.seeds import CONTEXT, check_contexts, env_seed
from bonuslab.envs.atari.spaces import observation_buffers, observation_space
from bonuslab.envs.episode_env import EpisodeEnv, Observation
from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.vector_env import check_action


class AtariEnv(EpisodeEnv):
    """One game, with the same randomness as env 0 of a `AtariVectorEnv` with the same settings.

    `info` also has the lives left and the game's points and, where the game's memory is known, the room, the rooms
    visited in this episode and the level. The seed of `reset` restarts the sequence of sticky actions.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 15}  # noqa: RUF012 (as Gymnasium declares it)

    def __init__(
        self,
        name: str,
        contexts: int | str | None = 1,
        seed: int = 0,
        *,
        held_out: bool = False,
        stream: int | Sequence[int] = 0,
        render_mode: str | None = None,
        **rules: Any,
    ) -> None:
        """`rules` are the fields of `Rules`."""
        super().__init__(render_mode)
        self.game = find_game(name)
        check_contexts(contexts, self.game.name)
        self.rules = Rules(**rules)
        self.observation_space = observation_space(self.game)
        self._actions = tuple(game_actions(self.game))
        self.action_space: gym.spaces.Discrete = gym.spaces.Discrete(len(self._actions))  # type: ignore[assignment]
        self._stream = (held_out, stream)
        observation = {key: rows[0] for key, rows in observation_buffers(self.game, 1).items()}
        self._episode = AtariEpisode(self.game, self.rules, env_seed(seed, held_out, stream, 0), observation)

    @property
    def length(self) -> int:
        """Steps of this episode so far."""
        return self._episode.length

    @property
    def rooms(self) -> frozenset[int]:
        """Rooms visited in this episode."""
        return frozenset(self._episode.rooms)

    @property
    def lives(self) -> int:
        """Lives left."""
        return self._episode.game.lives

    def screen(self) -> np.ndarray:
        """The screen in colour, [210, 160, 3] in most games."""
        return self._episode.game.picture()

    def render(self) -> Any:
        """The screen in colour with `render_mode="rgb_array"`."""
        return self.screen() if self.render_mode == "rgb_array" else None

    def get_state(self) -> dict[str, Any]:
        """Picklable state from which `set_state` resumes exactly."""
        return {"game": self.game, "rules": self.rules, "episode": self._episode.get_state()}

    def set_state(self, state: dict[str, Any]) -> Observation:
        """Resume from `get_state` and return the observation at that point."""
        if (state["game"], state["rules"]) != (self.game, self.rules):
            raise InvalidInput(
                f"a state of {state['game'].name} with {state['rules']} does not fit {self.game.name} with {self.rules}"
            )
        self._episode.set_state(state["episode"])
        return self._observation()

    def _check_context(self, context: object) -> int:
        if context != CONTEXT:
            raise InvalidInput(f"context id {context!r} cannot be used; allowed: {CONTEXT} (the only one)")
        return CONTEXT

    def _check_action(self, action: object) -> int:
        return check_action(action, self._actions, self.game.name)

    def _begin(self, context: int | None, seed: int | None) -> None:
        if seed is not None:
            self._episode.reseed(env_seed(seed, *self._stream, 0))
        self._episode.begin()

    def _info(self) -> dict[str, Any]:
        episode = self._episode
        info = {
            "context": episode.context,
            "lives": self.lives,
            "points": episode.points,
            "end_status": episode.status,
        }
        known, memory = self.game.memory, episode.game.memory
        if known is not None:
            info |= {"room": int(memory[known.room]), "rooms": self.rooms, "level": int(memory[known.level])}
        return info

"""Montezuma's Revenge as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.envs.montezuma.episode import MontezumaEpisode, Rules
from bonuslab.envs.montezuma.game import NAME, action_names
from bonuslab.envs.montezuma.seeds import CONTEXT, check_contexts, env_seed
from bonuslab.envs.montezuma.spaces import observation_buffers, observation_space
from bonuslab.envs.vector_env import check_action

Observation = dict[str, np.ndarray]


class MontezumaEnv(gym.Env[Observation, int]):
    """One game, with the same randomness as env 0 of a `MontezumaVectorEnv` with the same settings.

    `info` has the room, the rooms visited in this episode, the level, the lives left, the game's points and the end
    status of the episode.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 15}  # noqa: RUF012 (as Gymnasium declares it)

    def __init__(
        self,
        contexts: int | str | None = 1,
        seed: int = 0,
        *,
        held_out: bool = False,
        stream: int | Sequence[int] = 0,
        render_mode: str | None = None,
        **rules: Any,
    ) -> None:
        """`rules` are the fields of `Rules`."""
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise unknown("render mode", render_mode, self.metadata["render_modes"])
        check_contexts(contexts)
        self.rules = Rules(**rules)
        self.observation_space = observation_space()
        self.action_space: gym.spaces.Discrete = gym.spaces.Discrete(len(action_names()))  # type: ignore[assignment]
        self.render_mode = render_mode
        self._stream = (held_out, stream)
        observation = {key: rows[0] for key, rows in observation_buffers(1).items()}
        self._episode = MontezumaEpisode(self.rules, env_seed(seed, held_out, stream, 0), observation)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode; `seed` restarts the sequence of sticky actions."""
        for option, value in (options or {}).items():
            if option != "context":
                raise unknown("reset option", option, ["context"])
            if value not in (None, CONTEXT):
                raise InvalidInput(f"context id {value!r} cannot be used; allowed: {CONTEXT} (the only one)")
        super().reset(seed=seed)
        if seed is not None:
            self._episode.reseed(env_seed(seed, *self._stream, 0))
        self._episode.begin()
        return self._observation(), self._info()

    def step(self, action: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take one action for four frames."""
        index = check_action(action, action_names(), NAME)
        if self._episode.status != "running":
            state = "before the first reset" if self._episode.status is None else "after the end of the episode"
            raise InvalidInput(f"step {state}: call reset() first")
        reward = self._episode.step(index)
        status = self._episode.status
        return self._observation(), reward, status == "game_over", status == "step_limit", self._info()

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
        """The screen in colour [210, 160, 3]."""
        return self._episode.game.picture()

    def render(self) -> Any:
        """The screen in colour with `render_mode="rgb_array"`."""
        return self.screen() if self.render_mode == "rgb_array" else None

    def get_state(self) -> dict[str, Any]:
        """Picklable state from which `set_state` resumes exactly."""
        return {"rules": self.rules, "episode": self._episode.get_state()}

    def set_state(self, state: dict[str, Any]) -> Observation:
        """Resume from `get_state` and return the observation at that point."""
        if state["rules"] != self.rules:
            raise InvalidInput(f"a state with {state['rules']} does not fit {self.rules}")
        self._episode.set_state(state["episode"])
        return self._observation()

    def _observation(self) -> Observation:
        return {key: rows.copy() for key, rows in self._episode.observation.items()}

    def _info(self) -> dict[str, Any]:
        episode = self._episode
        return {
            "context": CONTEXT,
            "room": episode.game.room,
            "rooms": self.rooms,
            "level": episode.game.level,
            "lives": self.lives,
            "points": episode.points,
            "end_status": episode.status,
        }

"""Steps N environments in one process."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from bonuslab.envs.contexts import ContextCount
from bonuslab.envs.errors import check_integer
from bonuslab.envs.habitat.backends import find_scenes
from bonuslab.envs.habitat.contexts import HabitatContexts
from bonuslab.envs.habitat.episode import HabitatEpisode
from bonuslab.envs.habitat.simulator import Action, Scenes
from bonuslab.envs.habitat.spaces import (
    action_space,
    check_action,
    check_size,
    observation_buffers,
    observation_space,
)
from bonuslab.envs.replayed_vector_env import ReplayedVectorEnv


class HabitatVectorEnv(ReplayedVectorEnv):
    """N environments of one back end; see `bonuslab.envs.vector_env.VectorEnv`.

    Env i draws its contexts from the stream (stream, i), so it plays the same episodes as a single env with that
    stream. Simulators write directly into the arrays [N, ...]; `out` costs one copy. `metrics` has the coverage.
    """

    def __init__(
        self,
        backend: str | Scenes,
        num_envs: int,
        contexts: ContextCount = "inf",
        seed: int = 0,
        *,
        size: int = 128,
        held_out: bool = False,
        split: str | None = None,
        stream: int = 0,
        max_steps: int | None = None,
        stop_ends_episode: bool = False,
        **data: Any,
    ) -> None:
        envs = check_integer("num_envs", num_envs, 1)
        self.scenes = find_scenes(backend, **data)
        self.size = check_size(size)
        self.observation_space: gym.spaces.Dict = observation_space(self.size)
        self.action_space: gym.spaces.Discrete = action_space()
        super().__init__(
            self.scenes.name,
            [
                HabitatContexts(self.scenes, contexts, seed, held_out=held_out, split=split, stream=(stream, env_index))
                for env_index in range(envs)
            ],
            observation_buffers(envs, self.size),
            lambda buffers: HabitatEpisode(self.scenes, self.size, max_steps, stop_ends_episode, buffers),
        )

    def _check_actions(self, actions: np.ndarray) -> list[Action]:
        return [check_action(action) for action in actions.tolist()]

    def _prefetch(self, actions: list[Action]) -> None:
        for episode, action in zip(self._episodes, actions, strict=True):
            episode.prefetch(action)  # type: ignore[attr-defined]

    def _metrics(self, episode: HabitatEpisode) -> dict[str, float]:
        return {"coverage": episode.coverage}

"""Many houses in one process, stepped together without copying."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from bonuslab.envs.habitat.backends import find_scenes
from bonuslab.envs.habitat.contexts import ContextCount, Contexts
from bonuslab.envs.habitat.episode import Episode
from bonuslab.envs.habitat.simulator import Action, Scenes
from bonuslab.envs.habitat.spaces import (
    action_space,
    check_action,
    check_size,
    observation_buffers,
    observation_space,
)
from bonuslab.envs.replayed_vector_env import ReplayedVectorEnv
from bonuslab.envs.vector_env import check_num_envs


class HabitatVectorEnv(ReplayedVectorEnv):
    """N environments of one back end; see `bonuslab.envs.vector_env.VectorEnv`.

    Environment i draws its contexts from the stream (stream, i): it meets what an env with that stream meets alone,
    whatever the other envs do. The simulators write straight into the envs' arrays [N, ...]; a caller's `out` costs
    one copy of them all. A finished episode's coverage is in its `metrics`.
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
        envs = check_num_envs(num_envs)
        self.scenes = find_scenes(backend, **data)
        self.size = check_size(size)
        self.observation_space: gym.spaces.Dict = observation_space(self.size)
        self.action_space: gym.spaces.Discrete = action_space()
        super().__init__(
            self.scenes.name,
            [
                Contexts(self.scenes, contexts, seed, held_out=held_out, split=split, stream=(stream, env_index))
                for env_index in range(envs)
            ],
            observation_buffers(envs, self.size),
            lambda buffers: Episode(self.scenes, self.size, max_steps, stop_ends_episode, buffers),
        )

    def _checked(self, actions: np.ndarray) -> list[Action]:
        return [check_action(action) for action in actions.tolist()]

    def _foresee(self, actions: list[Action]) -> None:
        for episode, action in zip(self._episodes, actions, strict=True):
            episode.foresee(action)  # type: ignore[attr-defined]

    def _metrics(self, episode: Episode) -> dict[str, float]:
        return {"coverage": episode.coverage}

"""Many MiniHack games in one process, stepped together without copying observations."""

from __future__ import annotations

import math

import gymnasium as gym
import numpy as np

from bonuslab.envs.contexts import ContextCount
from bonuslab.envs.errors import check_flag, check_integer
from bonuslab.envs.minihack.contexts import make_contexts
from bonuslab.envs.minihack.episode import MiniHackEpisode
from bonuslab.envs.minihack.game import observation_buffers
from bonuslab.envs.minihack.spaces import observation_space
from bonuslab.envs.minihack.tasks import Task
from bonuslab.envs.minihack.tasks import task as find_task
from bonuslab.envs.replayed_vector_env import ReplayedVectorEnv
from bonuslab.envs.vector_env import TRUNCATIONS, Observations, check_action, write_out


class MiniHackVectorEnv(ReplayedVectorEnv):
    """N envs of one task; see `bonuslab.envs.vector_env.VectorEnv`.

    Env i draws its contexts from the stream (stream, i), as a `MiniHackEnv` with that stream does, whatever the other
    envs do. Games write directly into the arrays [N, ...]; passing `out` costs one copy of them.
    """

    _episodes: list[MiniHackEpisode]  # type: ignore[assignment]

    def __init__(
        self,
        task: str | Task,
        num_envs: int,
        contexts: ContextCount = "inf",
        seed: int = 0,
        *,
        held_out: bool = False,
        stream: int = 0,
        max_steps: int | None = None,
        penalty_step: float | None = None,
        winnable_within: int | None = None,
        stagger: bool = False,
    ) -> None:
        """See `MiniHackEnv`. `stagger` shortens the first episode of all envs but the last, so that episodes do not
        all end on the same step."""
        num_envs = check_integer("num_envs", num_envs, 1)
        self.task = find_task(task)
        self.observation_space: gym.spaces.Dict = observation_space()
        self.action_space: gym.spaces.Discrete = gym.spaces.Discrete(len(self.task.keys))
        self._stagger = check_flag("stagger", stagger)
        super().__init__(
            f"task {self.task.name}",
            [
                make_contexts(self.task, contexts, seed, winnable_within, held_out=held_out, stream=(stream, index))
                for index in range(num_envs)
            ],
            observation_buffers(num_envs),
            lambda buffers: MiniHackEpisode(self.task, max_steps, buffers, penalty_step=penalty_step),
        )

    def reset(self, out: Observations | None = None) -> Observations:
        """Start a new episode in every env."""
        super().reset()
        if self._stagger:
            for number, episode in enumerate(self._episodes, start=1):
                episode.limit = math.ceil(episode.max_steps * number / self.num_envs)
        return write_out(self._observations, out)

    def _is_truncated(self, episode: MiniHackEpisode) -> bool:
        return episode.status in TRUNCATIONS

    def _check_actions(self, actions: np.ndarray) -> list[int]:
        chosen = actions.tolist()
        if actions.dtype.kind not in "iu" or min(chosen) < 0 or max(chosen) >= self.action_space.n:
            for action in chosen:
                check_action(action, self.task.action_names, self.task.name)
        return chosen

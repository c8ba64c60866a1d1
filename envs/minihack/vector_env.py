"""Many MiniHack games in one process, stepped together without copying."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from bonuslab.envs.minihack.contexts import ContextCount, Contexts
from bonuslab.envs.minihack.episode import Episode
from bonuslab.envs.minihack.game import observation_buffers
from bonuslab.envs.minihack.spaces import action_space, check_action, observation_space
from bonuslab.envs.minihack.tasks import Task
from bonuslab.envs.minihack.tasks import task as find_task
from bonuslab.envs.replayed_vector_env import ReplayedVectorEnv
from bonuslab.envs.vector_env import check_num_envs


class MiniHackVectorEnv(ReplayedVectorEnv):
    """N environments of one task; see `bonuslab.envs.vector_env.VectorEnv`.

    Environment i draws its contexts from the stream (stream, i): it meets what an env with that stream meets alone,
    whatever the other envs do. The games write straight into the envs' arrays [N, ...]; a caller's `out` costs
    one copy of them all.
    """

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
    ) -> None:
        envs = check_num_envs(num_envs)
        self.task = find_task(task)
        self.observation_space: gym.spaces.Dict = observation_space()
        self.action_space: gym.spaces.Discrete = action_space(self.task)
        self._num_actions = len(self.task.actions)
        super().__init__(
            f"task {self.task.name}",
            [Contexts(contexts, seed, held_out=held_out, stream=(stream, env_index)) for env_index in range(envs)],
            observation_buffers(envs),
            lambda buffers: Episode(self.task, max_steps, buffers, penalty_step=penalty_step),
        )

    def _checked(self, actions: np.ndarray) -> list[int]:
        chosen = actions.tolist()
        if actions.dtype.kind not in "iu" or min(chosen) < 0 or max(chosen) >= self._num_actions:
            for action in chosen:
                check_action(action, self.task)
        return chosen

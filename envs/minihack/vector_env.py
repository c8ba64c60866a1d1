"""Many MiniHack games in one process, stepped together without copying observations."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from bonuslab.envs.contexts import ContextCount
from bonuslab.envs.errors import check_integer
from bonuslab.envs.minihack.contexts import MiniHackContexts
from bonuslab.envs.minihack.episode import MiniHackEpisode
from bonuslab.envs.minihack.game import observation_buffers
from bonuslab.envs.minihack.spaces import observation_space
from bonuslab.envs.minihack.tasks import Task
from bonuslab.envs.minihack.tasks import task as find_task
from bonuslab.envs.replayed_vector_env import ReplayedVectorEnv
from bonuslab.envs.vector_env import check_action


class MiniHackVectorEnv(ReplayedVectorEnv):
    """N envs of one task; see `bonuslab.envs.vector_env.VectorEnv`.

    Env i draws its contexts from the stream (stream, i), as a `MiniHackEnv` with that stream does, whatever the other
    envs do. Games write directly into the arrays [N, ...]; passing `out` costs one copy of them.
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
        num_envs = check_integer("num_envs", num_envs, 1)
        self.task = find_task(task)
        self.observation_space: gym.spaces.Dict = observation_space()
        self.action_space: gym.spaces.Discrete = gym.spaces.Discrete(len(self.task.keys))
        super().__init__(
            f"task {self.task.name}",
            [MiniHackContexts(contexts, seed, held_out=held_out, stream=(stream, index)) for index in range(num_envs)],
            observation_buffers(num_envs),
            lambda buffers: MiniHackEpisode(self.task, max_steps, buffers, penalty_step=penalty_step),
        )

    def _check_actions(self, actions: np.ndarray) -> list[int]:
        chosen = actions.tolist()
        if actions.dtype.kind not in "iu" or min(chosen) < 0 or max(chosen) >= self.action_space.n:
            for action in chosen:
                check_action(action, self.task.action_names, self.task.name)
        return chosen

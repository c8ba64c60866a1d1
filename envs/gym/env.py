"""One Gymnasium environment with contexts, for watching."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from bonuslab.envs.contexts import ContextCount, SeedContexts
from bonuslab.envs.episode_env import EpisodeEnv
from bonuslab.envs.errors import check_integer
from bonuslab.envs.gym.actions import ActionLayout
from bonuslab.envs.gym.episode import GymEpisode
from bonuslab.envs.gym.making import Maker
from bonuslab.envs.gym.observations import ObservationLayout


class GymEnv(EpisodeEnv):
    """An environment as agents see it: flat observations, one Discrete action, a context per episode."""

    def __init__(
        self,
        maker: Maker,
        contexts: ContextCount = "inf",
        seed: int = 0,
        *,
        held_out: bool = False,
        stream: int | Sequence[int] = 0,
        **settings: Any,
    ) -> None:
        """See `GymVectorEnv`; it draws RGB pictures if it can."""
        self._name = maker.name
        self.contexts = SeedContexts(contexts, seed, held_out=held_out, stream=stream)
        inner = maker.make_drawing(settings)
        self.render_mode, self.metadata = inner.render_mode, inner.metadata
        observations, self._actions = ObservationLayout(maker.name, inner), ActionLayout(maker.name, inner.action_space)
        self.observation_space = observations.space
        self.action_space: gym.spaces.Discrete = self._actions.space  # type: ignore[assignment]
        buffers = {key: rows[0] for key, rows in observations.buffers(1).items()}
        self._episode = GymEpisode(maker.name, inner, observations, self._actions, buffers, maker.won(settings))

    def render(self) -> Any:
        """The environment's own picture."""
        return self._episode.env.render()

    def _check_context(self, context: object) -> int:
        return check_integer("context id", context, 0, SeedContexts.limit - 1)

    def _check_action(self, action: object) -> int:
        return self._actions.check(np.asarray([action]))[0]

    def _is_truncated(self) -> bool:
        return self._episode.truncated

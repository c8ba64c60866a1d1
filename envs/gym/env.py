"""One Gymnasium environment with contexts, for watching."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from bonuslab.envs.contexts import ContextCount, SeedContexts
from bonuslab.envs.errors import check_integer, unknown
from bonuslab.envs.gym.actions import ActionLayout
from bonuslab.envs.gym.episode import GymEpisode
from bonuslab.envs.gym.making import Maker
from bonuslab.envs.gym.observations import ObservationLayout

Observation = dict[str, np.ndarray]


class GymEnv(gym.Env[Observation, int]):
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
        inner = maker.make_drawing(settings)
        self.render_mode = inner.render_mode
        self._contexts = SeedContexts(contexts, seed, held_out=held_out, stream=stream)
        observations, self._actions = ObservationLayout(maker.name, inner), ActionLayout(maker.name, inner.action_space)
        self.observation_space = observations.space
        self.action_space: gym.spaces.Discrete = self._actions.space  # type: ignore[assignment]
        buffers = {key: rows[0] for key, rows in observations.buffers(1).items()}
        won = settings.get("won", maker.defaults.get("won", "auto"))
        self._episode = GymEpisode(maker.name, inner, observations, self._actions, buffers, won)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode on the next context, or on `options={"context": id}`; `seed` restarts the order of contexts."""
        chosen = dict(options or {})
        context = chosen.pop("context", None)
        if chosen:
            raise unknown("reset option", next(iter(chosen)), ["context"])
        if seed is not None:
            self._contexts.reseed(seed)
        if context is not None:
            check_integer("context id", context, 0, SeedContexts.limit - 1)
        self._episode.begin(self._contexts.draw() if context is None else int(context))
        return self._seen()

    def step(self, action: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take one action."""
        reward = self._episode.step(self._actions.check(np.asarray([action]))[0])
        ended = self._episode.status != "running"
        observation, info = self._seen()
        return observation, reward, ended and not self._episode.truncated, self._episode.truncated, info

    def render(self) -> Any:
        """The environment's own picture."""
        return self._episode.env.render()

    def close(self) -> None:
        """Close the environment."""
        self._episode.close()

    def _seen(self) -> tuple[Observation, dict[str, Any]]:
        observation = {key: array.copy() for key, array in self._episode.observation.items()}
        return observation, {"context": self._episode.context, "end_status": self._episode.status}

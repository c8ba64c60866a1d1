"""N Gymnasium environments of one kind in one process, stepped together."""

from __future__ import annotations

import math
import warnings
from typing import Any

import gymnasium as gym
import numpy as np

from bonuslab.envs.contexts import ContextCount, SeedContexts
from bonuslab.envs.errors import check_integer
from bonuslab.envs.gym.actions import ActionLayout
from bonuslab.envs.gym.episode import GymEpisode, step_limit
from bonuslab.envs.gym.making import Maker
from bonuslab.envs.gym.observations import ObservationLayout
from bonuslab.envs.replayed_vector_env import ReplayedVectorEnv
from bonuslab.envs.vector_env import EnvError, Observations, write_out


class GymVectorEnv(ReplayedVectorEnv):
    """N environments; see `bonuslab.envs.vector_env.VectorEnv`.

    Env i draws its contexts from the stream (stream, i): it plays what a `GymEnv` with that stream plays alone. Vector
    implementations (`vector_entry_point`) are not used: Gymnasium's draw all sub-envs from one generator, so that a
    sub-env cannot be reseeded by itself, and its episode depends on what the others do.
    """

    def __init__(
        self,
        maker: Maker,
        num_envs: int,
        contexts: ContextCount = "inf",
        seed: int = 0,
        *,
        held_out: bool = False,
        stream: int = 0,
        **settings: Any,
    ) -> None:
        """`settings` are the environment's keyword arguments, `max_episode_steps`, `won` and `stagger`.

        `stagger` shortens the first episode of all envs but the last, so that episodes do not all end on the same step:
        otherwise every batch shows one part of all episodes until the first wins. By default in MiniGrid, whose
        episodes end at the limit or are won; never on held-out contexts.
        """
        check_integer("num_envs", num_envs, 1)
        won, stagger = maker.won(settings), maker.stagger(settings)
        samplers = [
            SeedContexts(contexts, seed, held_out=held_out, stream=(stream, env_index)) for env_index in range(num_envs)
        ]
        made = [maker.make(settings)]
        observations = ObservationLayout(maker.name, made[0])
        self._layout = ActionLayout(maker.name, made[0].action_space)
        self.observation_space: gym.spaces.Dict = observations.space
        self.action_space: gym.spaces.Discrete = self._layout.space
        self._episodes: list[GymEpisode]  # type: ignore[assignment]
        super().__init__(
            maker.name,
            samplers,
            observations.buffers(num_envs),
            lambda buffers: GymEpisode(
                maker.name, made.pop() if made else maker.make(settings), observations, self._layout, buffers, won
            ),
        )
        first = self._episodes[0].env
        self._stagger = (hasattr(first.unwrapped, "max_steps") if stagger is None else stagger) and not held_out
        self._limit = step_limit(first)
        self.resumes_exactly = self._probe()
        """Whether the same seed and actions give the same episode, as far as is known."""

    @property
    def restarted(self) -> np.ndarray:
        """[N] bool: envs whose episode `set_state` could not resume, and began anew."""
        return np.array([episode.restarted for episode in self._episodes])

    def reset(self, out: Observations | None = None) -> Observations:
        """Start a new episode in every env."""
        super().reset()
        if self._stagger and self._limit is not None:
            for number, episode in enumerate(self._episodes, start=1):
                limit = math.ceil(self._limit * number / self.num_envs)
                episode.limit = None if number == self.num_envs else limit
        return write_out(self._observations, out)

    def set_state(self, state: dict[str, Any], out: Any = None) -> Any:
        """Replay every episode; one whose replay differs begins anew (`restarted`)."""
        observations = super().set_state(state, out)
        self.resumes_exactly &= not self.restarted.any()
        return observations

    def _has_less_time(self, episode: GymEpisode) -> bool:
        return episode.limit is not None

    def _probe(self) -> bool:
        try:
            with self._locating_errors(0):
                repeats = self._episodes[0].repeats_itself()
        except BaseException:
            self.close()
            raise
        if not repeats:
            warnings.warn(
                f"{self._name} ignores its seed: the same seed and actions gave different observations, so contexts "
                "are not reproducible and a resumed run begins its episodes anew",
                stacklevel=3,
            )
        return repeats

    def _check_actions(self, actions: np.ndarray) -> list[int]:
        return self._layout.check(actions)

    def _is_truncated(self, episode: Any) -> bool:
        return episode.truncated

    def _error(self, env_index: int, error: Exception) -> EnvError:
        text = str(error) if isinstance(error, EnvError) else f"{self._name} raised {type(error).__name__}: {error}"
        return EnvError(f"{text} (env {env_index} of {self.num_envs}, context {self._episodes[env_index].context})")

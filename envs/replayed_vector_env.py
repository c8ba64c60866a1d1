"""VectorEnv of episodes that are objects of their own and are saved as what was done in them, to be played again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.vector_env import EnvError, FinishedEpisode, Observations, VectorStep, actions_of_all, hand_out


class Episode(Protocol):
    """One environment's environment. It writes its observations into buffers that it was given."""

    @property
    def context(self) -> int | None:
        """Of the running episode; None before the first."""
        ...

    @property
    def length(self) -> int:
        """Steps so far."""
        ...

    @property
    def total_reward(self) -> float:
        """So far."""
        ...

    @property
    def status(self) -> str:
        """`running`, `step_limit`, or how the episode ended."""
        ...

    @property
    def observation(self) -> Mapping[str, np.ndarray]:
        """The newest one."""
        ...

    def begin(self, context: int) -> None:
        """Start an episode."""
        ...

    def step(self, action: Any) -> float:
        """Take an action; the reward."""
        ...

    def get_state(self) -> Any:
        """Context and actions so far; None before the first episode."""
        ...

    def set_state(self, state: Any) -> None:
        """Play up to where it was."""
        ...

    def close(self) -> None:
        """Give back what it holds."""
        ...


class Sampler(Protocol):
    """Where an environment's contexts come from."""

    def draw(self) -> int:
        """The next one."""
        ...

    def get_state(self) -> Any:
        """Where it is."""
        ...

    def set_state(self, state: Any) -> None:
        """Go on where it was."""
        ...


class ReplayedVectorEnv(ABC):
    """What environments of such episodes share; see `bonuslab.envs.vector_env.VectorEnv`."""

    def __init__(
        self,
        name: str,
        samplers: Sequence[Sampler],
        observations: Observations,
        make_episode: Callable[[Observations], Episode],
    ) -> None:
        """Episodes write into their rows of `observations`; `name` says what they are of."""
        self._name = name
        self.num_envs = len(samplers)
        self._samplers = samplers
        self._observations = observations
        self._episodes: list[Episode] = []
        self._started = False
        try:
            for env_index in range(self.num_envs):
                self._episodes.append(make_episode({key: array[env_index] for key, array in observations.items()}))
        except BaseException:
            self.close()
            raise

    @property
    def contexts(self) -> np.ndarray:
        """[N] int64: the context of each environment's running episode, -1 before the first."""
        ids = [-1 if episode.context is None else episode.context for episode in self._episodes]
        return np.array(ids, dtype=np.int64)

    def reset(self, out: Observations | None = None) -> Observations:
        """Start a new episode in every environment."""
        for env_index in range(self.num_envs):
            self._begin(env_index)
        self._started = True
        return hand_out(self._observations, out)

    def step(self, actions: np.ndarray | Sequence[int], out: Observations | None = None) -> VectorStep:
        """Take one action in every environment."""
        chosen = self._checked(actions_of_all(actions, self.num_envs, self._started))
        rewards: list[float] = []
        terminated, truncated = np.zeros(self.num_envs, np.bool_), np.zeros(self.num_envs, np.bool_)
        finished: list[FinishedEpisode] = []
        env_index = 0
        self._foresee(chosen)
        try:  # one for all environments: a context manager for each would show in the speed
            for env_index, (episode, action) in enumerate(zip(self._episodes, chosen, strict=True)):
                rewards.append(episode.step(action))
                if episode.status != "running":
                    finished.append(self._finished(env_index))
                    (truncated if episode.status == "step_limit" else terminated)[env_index] = True
                    self._begin(env_index)
        except EnvError:
            raise
        except Exception as error:
            raise self._error(env_index, error) from error
        return VectorStep(
            hand_out(self._observations, out), np.array(rewards, np.float32), terminated, truncated, finished
        )

    def get_state(self) -> dict[str, Any]:
        """Context and actions of every environment's episode, and where its sampler is."""
        return {
            "name": self._name,
            "episodes": [episode.get_state() for episode in self._episodes],
            "samplers": [sampler.get_state() for sampler in self._samplers],
        }

    def set_state(self, state: dict[str, Any], out: Observations | None = None) -> Observations:
        """Play every environment's episode again up to where it was."""
        if state["name"] != self._name or len(state["episodes"]) != self.num_envs:
            raise InvalidInput(
                f"a state of {len(state['episodes'])} environments of {state['name']} does not fit "
                f"{self.num_envs} environments of {self._name}"
            )
        for env_index, episode in enumerate(self._episodes):
            self._samplers[env_index].set_state(state["samplers"][env_index])
            with self._named(env_index):
                episode.set_state(state["episodes"][env_index])
        self._started = all(episode is not None for episode in state["episodes"])
        return hand_out(self._observations, out)

    def close(self) -> None:
        """Close every episode. A second call does nothing."""
        for episode in self._episodes:
            episode.close()
        self._started = False

    @abstractmethod
    def _checked(self, actions: np.ndarray) -> list[Any]:
        """Actions [N] as episodes take them; a bad one is refused."""

    def _foresee(self, actions: list[Any]) -> None:  # noqa: B027 (most have nothing to do)
        """Hear what all environments are about to do, before the first does it."""

    def _metrics(self, episode: Any) -> dict[str, float]:
        """Further numbers of an episode that has ended."""
        return {}

    def _begin(self, env_index: int) -> None:
        with self._named(env_index):
            self._episodes[env_index].begin(self._samplers[env_index].draw())

    def _finished(self, env_index: int) -> FinishedEpisode:
        episode = self._episodes[env_index]
        assert episode.context is not None
        return FinishedEpisode(
            env_index=env_index,
            context=episode.context,
            length=episode.length,
            total_reward=episode.total_reward,
            end_status=episode.status,
            final_observation={key: array.copy() for key, array in episode.observation.items()},
            metrics=self._metrics(episode),
        )

    @contextmanager
    def _named(self, env_index: int) -> Iterator[None]:
        """Say in which environment and on which context something failed."""
        try:
            yield
        except Exception as error:
            raise self._error(env_index, error) from error

    def _error(self, env_index: int, error: Exception) -> EnvError:
        context = self._episodes[env_index].context
        return EnvError(f"environment {env_index} of {self.num_envs}, {self._name}, context {context}: {error}")

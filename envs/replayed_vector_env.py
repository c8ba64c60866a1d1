"""A vector env whose state is each episode's context and actions; restoring replays them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from bonuslab.envs.contexts import ContextSampler
from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.vector_env import EnvError, FinishedEpisode, Observations, VectorStep, check_actions, write_out


class ReplayableEpisode(Protocol):
    """The episodes of one env. They write their observations into given buffers."""

    @property
    def context(self) -> int | None:
        """The current episode's; None before the first."""
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
        """The latest one."""
        ...

    def begin(self, context: int) -> None:
        """Start an episode."""
        ...

    def step(self, action: Any) -> float:
        """Take an action and return its reward."""
        ...

    def get_state(self) -> Any:
        """Context and actions so far; None before the first episode."""
        ...

    def set_state(self, state: Any) -> None:
        """Replay the actions of `state`."""
        ...

    def close(self) -> None:
        """Release all resources."""
        ...


class RecordedActions:
    """What episodes have in common whose context and actions, a byte each, determine everything."""

    context: int | None
    status: Any
    limit: int
    max_steps: int
    _actions: bytearray

    @property
    def length(self) -> int:
        """Steps taken so far."""
        return len(self._actions)

    def get_state(self) -> dict[str, Any] | None:
        """Context and actions so far; None before the first episode."""
        if self.context is None:
            return None
        state = {"context": self.context, "actions": bytes(self._actions), "status": self.status}
        return state if self.limit == self.max_steps else state | {"limit": self.limit}


class ReplayedVectorEnv(ABC):
    """Steps N replayable episodes; see `bonuslab.envs.vector_env.VectorEnv`."""

    def __init__(
        self,
        name: str,
        samplers: Sequence[ContextSampler],
        observations: Observations,
        make_episode: Callable[[Observations], ReplayableEpisode],
    ) -> None:
        """Episode i writes into row i of `observations`; `name` appears in error messages."""
        self._name = name
        self.num_envs = len(samplers)
        self._samplers = samplers
        self._observations = observations
        self._episodes: list[ReplayableEpisode] = []
        self._started = False
        try:
            for env_index in range(self.num_envs):
                self._episodes.append(make_episode({key: array[env_index] for key, array in observations.items()}))
        except BaseException:
            self.close()
            raise

    @property
    def contexts(self) -> np.ndarray:
        """[N] int64: the context of each env's current episode, -1 before the first."""
        ids = [-1 if episode.context is None else episode.context for episode in self._episodes]
        return np.array(ids, dtype=np.int64)

    def reset(self, out: Observations | None = None) -> Observations:
        """Start a new episode in every env."""
        for env_index in range(self.num_envs):
            self._begin(env_index)
        self._started = True
        return write_out(self._observations, out)

    def step(self, actions: np.ndarray | Sequence[int], out: Observations | None = None) -> VectorStep:
        """Take one action in every env."""
        chosen = self._check_actions(check_actions(actions, self.num_envs, self._started))
        rewards: list[float] = []
        terminated, truncated = np.zeros(self.num_envs, np.bool_), np.zeros(self.num_envs, np.bool_)
        finished: list[FinishedEpisode] = []
        env_index = 0
        self._prefetch(chosen)
        try:  # one for all envs: a context manager per env would cost measurable time
            for env_index, (episode, action) in enumerate(zip(self._episodes, chosen, strict=True)):
                rewards.append(episode.step(action))
                if episode.status != "running":
                    finished.append(self._finished(env_index))
                    (truncated if self._is_truncated(episode) else terminated)[env_index] = True
        except Exception as error:
            raise self._error(env_index, error) from error
        for ended in finished:
            self._begin(ended.env_index)
        return VectorStep(
            write_out(self._observations, out), np.array(rewards, np.float32), terminated, truncated, finished
        )

    def get_state(self) -> dict[str, Any]:
        """Context and actions of every episode, and the state of its sampler."""
        return {
            "name": self._name,
            "episodes": [episode.get_state() for episode in self._episodes],
            "samplers": [sampler.get_state() for sampler in self._samplers],
        }

    def set_state(self, state: dict[str, Any], out: Observations | None = None) -> Observations:
        """Replay every episode up to where it was."""
        if state["name"] != self._name or len(state["episodes"]) != self.num_envs:
            raise InvalidInput(
                f"a state of {len(state['episodes'])} envs of {state['name']} does not fit "
                f"{self.num_envs} envs of {self._name}"
            )
        for env_index, episode in enumerate(self._episodes):
            self._samplers[env_index].set_state(state["samplers"][env_index])
            with self._locating_errors(env_index):
                episode.set_state(state["episodes"][env_index])
        self._started = all(episode is not None for episode in state["episodes"])
        return write_out(self._observations, out)

    def close(self) -> None:
        """Close every episode; idempotent."""
        for episode in self._episodes:
            episode.close()
        self._started = False

    @abstractmethod
    def _check_actions(self, actions: np.ndarray) -> list[Any]:
        """Actions [N] as episodes take them; rejects invalid ones."""

    def _prefetch(self, actions: list[Any]) -> None:  # noqa: B027 (optional)
        """Called with all actions before the first env steps, so that simulators can start in parallel."""

    def _is_truncated(self, episode: Any) -> bool:
        """Whether an ended episode was cut short rather than terminated."""
        return episode.status == "step_limit"

    def _has_less_time(self, episode: Any) -> bool:
        """Whether the step limit of this episode is shorter than others'."""
        return bool(episode.limit != episode.max_steps)

    def _metrics(self, episode: Any) -> dict[str, float]:
        """Additional metrics of a finished episode."""
        return {}

    def _begin(self, env_index: int) -> None:
        with self._locating_errors(env_index):
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
            had_less_time=self._has_less_time(episode),
        )

    @contextmanager
    def _locating_errors(self, env_index: int) -> Iterator[None]:
        """Add the env and its context to the message of any error."""
        try:
            yield
        except Exception as error:
            raise self._error(env_index, error) from error

    def _error(self, env_index: int, error: Exception) -> EnvError:
        context = self._episodes[env_index].context
        return EnvError(f"env {env_index} of {self.num_envs}, {self._name}, context {context}: {error}")

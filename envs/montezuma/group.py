"""Some of the environments, in whichever process they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from bonuslab.envs.montezuma.episode import Episode, Rules
from bonuslab.envs.montezuma.seeds import CONTEXT
from bonuslab.envs.vector_env import EnvError, FinishedEpisode, Observations


@dataclass(frozen=True)
class GroupPlan:
    """Which environments a group has and how they are played."""

    rules: Rules
    first_env: int
    seeds: tuple[tuple[int, ...], ...]
    """Of each environment's sticky actions."""


@dataclass(frozen=True)
class GroupStep:
    """What one step of a group's environments gave; observations are in the group's arrays."""

    reward: np.ndarray  # [n] float32
    terminated: np.ndarray  # [n] bool
    truncated: np.ndarray  # [n] bool
    finished: list[FinishedEpisode]


class Group(Protocol):
    """n environments that write their observations into arrays [n, ...] given to them.

    Each request is sent and later answered, so that groups in other processes work at the same time.
    """

    def send(self, method: str, argument: Any = None) -> None:
        """Ask for `reset`, `step`, `get_state`, `set_state`."""
        ...

    def receive(self) -> Any:
        """The answer to the last request; a failure raises `EnvError`."""
        ...

    def close(self) -> None:
        """End."""
        ...


class LocalGroup:
    """VectorEnv in this process: the answer is worked out when it is asked for."""

    def __init__(self, plan: GroupPlan, observations: Observations) -> None:
        self._first_env = plan.first_env
        self._episodes = [
            Episode(plan.rules, seed, {key: rows[index] for key, rows in observations.items()})
            for index, seed in enumerate(plan.seeds)
        ]
        self._request: tuple[str, Any] = ("", None)

    def send(self, method: str, argument: Any = None) -> None:
        """Note the request."""
        self._request = (method, argument)

    def receive(self) -> Any:
        """Do what was asked for."""
        method, argument = self._request
        return _METHODS[method](self, argument)

    def close(self) -> None:
        """Let go of the emulators."""
        self._episodes = []

    def _reset(self, _: None) -> None:
        for episode in self._episodes:
            episode.begin()

    def _step(self, actions: Sequence[int]) -> GroupStep:
        num_envs = len(self._episodes)
        reward = np.zeros(num_envs, np.float32)
        terminated, truncated = np.zeros(num_envs, np.bool_), np.zeros(num_envs, np.bool_)
        finished: list[FinishedEpisode] = []
        for index, (episode, action) in enumerate(zip(self._episodes, actions, strict=True)):
            try:
                reward[index] = episode.step(action)
                if episode.status != "running":
                    (truncated if episode.status == "step_limit" else terminated)[index] = True
                    finished.append(self._finish(index))
                    episode.begin()
            except Exception as error:
                raise EnvError(f"environment {self._first_env + index}, MontezumaRevenge: {error}") from error
        return GroupStep(reward, terminated, truncated, finished)

    def _finish(self, index: int) -> FinishedEpisode:
        episode = self._episodes[index]
        return FinishedEpisode(
            env_index=self._first_env + index,
            context=CONTEXT,
            length=episode.length,
            total_reward=float(episode.points),
            end_status=str(episode.status),
            final_observation={key: rows.copy() for key, rows in episode.observation.items()},
            metrics=episode.metrics(),
        )

    def _get_state(self, _: None) -> list[dict[str, Any]]:
        return [episode.get_state() for episode in self._episodes]

    def _set_state(self, states: Sequence[dict[str, Any]]) -> None:
        for episode, state in zip(self._episodes, states, strict=True):
            episode.set_state(state)


_METHODS: dict[str, Callable[[LocalGroup, Any], Any]] = {
    "reset": LocalGroup._reset,
    "step": LocalGroup._step,
    "get_state": LocalGroup._get_state,
    "set_state": LocalGroup._set_state,
}

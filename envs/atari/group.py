"""A group of envs that run in one process, this one or another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from bonuslab.envs.atari.episode import AtariEpisode, Rules
from bonuslab.envs.atari.games import Game
from bonuslab.envs.atari.seeds import CONTEXT
from bonuslab.envs.vector_env import EnvError, FinishedEpisode, Observations


@dataclass(frozen=True)
class GroupSpec:
    """The envs of a group, their game and its rules."""

    game: Game
    rules: Rules
    first_env: int
    seeds: tuple[tuple[int, ...], ...]
    """One per env, for its sticky actions."""


GroupStep = tuple[np.ndarray, np.ndarray, np.ndarray, list[FinishedEpisode]]
"""reward [n] float32, terminated [n] bool, truncated [n] bool, finished; observations are in the group's arrays."""


class EnvGroup(Protocol):
    """n envs that write their observations into given arrays [n, ...].

    Requests are sent before any answer is received, so that groups in other processes run in parallel.
    """

    def send(self, method: str, argument: Any = None) -> None:
        """Request `reset`, `step`, `get_state` or `set_state`."""
        ...

    def receive(self) -> Any:
        """The answer to the last request; raises `EnvError` if an env failed."""
        ...

    def close(self) -> None:
        """Release emulators and processes."""
        ...


class LocalGroup:
    """Envs in this process; `receive` does the work."""

    def __init__(self, spec: GroupSpec, observations: Observations) -> None:
        self._first_env, self._name = spec.first_env, spec.game.name
        self._episodes = [
            AtariEpisode(spec.game, spec.rules, seed, {key: rows[index] for key, rows in observations.items()})
            for index, seed in enumerate(spec.seeds)
        ]
        self._request: tuple[str, Any] = ("", None)

    def send(self, method: str, argument: Any = None) -> None:
        """Store the request."""
        self._request = (method, argument)

    def receive(self) -> Any:
        """Execute the request."""
        method, argument = self._request
        return getattr(self, f"_{method}")(argument)

    def close(self) -> None:
        """Release the emulators."""
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
                    finished.append(self._finished(index))
                    episode.begin()
            except Exception as error:
                raise EnvError(f"env {self._first_env + index}, {self._name}: {error}") from error
        return reward, terminated, truncated, finished

    def _finished(self, index: int) -> FinishedEpisode:
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

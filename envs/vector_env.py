"""What a batch of environments in one process offers, whatever the environment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import gymnasium as gym
import numpy as np

from bonuslab.envs.errors import InvalidInput

Observations = dict[str, np.ndarray]
"""By key, [N, ...] for N environments."""


class EnvError(RuntimeError):
    """An environment failed; the text says in which environment and on which task and context."""


@dataclass(slots=True)
class FinishedEpisode:
    """An episode that ended on this step."""

    env_index: int
    context: int
    length: int
    """Steps, the last one included."""
    total_reward: float
    end_status: str
    final_observation: dict[str, np.ndarray]
    """The true last observation, in arrays that nobody writes to any more."""
    metrics: dict[str, float] = field(default_factory=dict)
    """Further numbers of the episode, such as the share of a house that was seen; results show their means."""


@dataclass(slots=True)
class VectorStep:
    """What one step of all environments gave."""

    observations: Observations
    """[N, ...]; of an environment whose episode ended, already the first of its next episode."""
    reward: np.ndarray  # [N] float32
    terminated: np.ndarray  # [N] bool
    truncated: np.ndarray  # [N] bool
    finished: list[FinishedEpisode]


class VectorEnv(Protocol):
    """N environments stepped together. An environment whose episode ends starts the next one within the same step."""

    num_envs: int
    observation_space: gym.spaces.Dict
    """Of one environment."""
    action_space: gym.spaces.Discrete
    """Of one environment."""

    @property
    def contexts(self) -> np.ndarray:
        """[N] int64: the context of each environment's running episode."""
        ...

    def reset(self, out: Observations | None = None) -> Observations:
        """Start a new episode in every environment; the first observations, written into `out` if given."""
        ...

    def step(self, actions: np.ndarray, out: Observations | None = None) -> VectorStep:
        """Take one action [N] in every environment. Without `out`, the next call overwrites the observations."""
        ...

    def get_state(self) -> dict[str, Any]:
        """Everything `set_state` needs to go on exactly; can be pickled."""
        ...

    def set_state(self, state: dict[str, Any], out: Observations | None = None) -> Observations:
        """Go on where `get_state` was called; the observations of that moment."""
        ...

    def close(self) -> None:
        """Give back memory, files and directories."""
        ...


def check_num_envs(num_envs: object) -> int:
    """`num_envs` as a number."""
    if isinstance(num_envs, bool) or not isinstance(num_envs, int | np.integer) or num_envs < 1:
        raise InvalidInput(f"num_envs {num_envs!r} cannot be used; allowed: whole numbers from 1")
    return int(num_envs)


def hand_out(observations: Observations, out: Observations | None) -> Observations:
    """The environments' own arrays, or a caller's with the same contents."""
    if out is None:
        return observations
    for key, array in observations.items():
        np.copyto(out[key], array, casting="no")
    return out


def actions_of_all(actions: np.ndarray | Sequence[int], num_envs: int, started: bool) -> np.ndarray:
    """[N]: one action for every environment, not yet checked one by one."""
    if not started:
        raise InvalidInput("step before reset: call reset() first")
    array = np.asarray(actions)
    if array.shape != (num_envs,):
        raise InvalidInput(f"actions of shape {array.shape} cannot be used; allowed: ({num_envs},)")
    return array

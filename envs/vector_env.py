"""The vector env interface that every family of environments implements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import gymnasium as gym
import numpy as np

from bonuslab.envs.errors import InvalidInput

Observations = dict[str, np.ndarray]
"""By key, [N, ...] for N envs."""


SHORTENED = "shortened"
"""`end_status` of an env's first episode if it was cut short only to start envs at different times."""
TRUNCATIONS = ("step_limit", SHORTENED, "simulator_died")
"""Every `end_status` that is no part of the task."""


class EnvError(RuntimeError):
    """An env failed; the message names the env, its task and its context."""


@dataclass(slots=True)
class FinishedEpisode:
    """An episode that ended on this step."""

    env_index: int
    context: int
    length: int
    """In steps, including the last."""
    total_reward: float
    end_status: str
    final_observation: dict[str, np.ndarray]
    """The true last observation, as copies that are never overwritten."""
    metrics: dict[str, float] = field(default_factory=dict)
    """Additional metrics of the episode, such as coverage; results report their means."""
    seen: dict[str, frozenset[int]] = field(default_factory=dict)
    """What the vector env has seen so far, such as `rooms`; results count the union over all runners, `rooms_ever`."""
    had_less_time: bool = False
    """Whether its limit was shortened to start envs at different times. Results leave it out even if it was won in
    time: those that were not could still have been."""


@dataclass(slots=True)
class VectorStep:
    """The result of stepping all envs once."""

    observations: Observations
    """[N, ...]; where an episode ended, the first observation of the next one."""
    reward: np.ndarray  # [N] float32
    terminated: np.ndarray  # [N] bool
    truncated: np.ndarray  # [N] bool
    finished: list[FinishedEpisode]


class VectorEnv(Protocol):
    """N envs stepped together. An env whose episode ends starts the next one within the same step."""

    num_envs: int
    observation_space: gym.spaces.Dict
    """Of one env."""
    action_space: gym.spaces.Discrete
    """Of one env."""

    @property
    def contexts(self) -> np.ndarray:
        """[N] int64: the context of each env's current episode."""
        ...

    def reset(self, out: Observations | None = None) -> Observations:
        """Start a new episode in every env and return the first observations, written into `out` if given."""
        ...

    def step(self, actions: np.ndarray, out: Observations | None = None) -> VectorStep:
        """Take one action [N] in every env. Without `out`, the next call overwrites the observations."""
        ...

    def get_state(self) -> dict[str, Any]:
        """Picklable state from which `set_state` resumes exactly."""
        ...

    def set_state(self, state: dict[str, Any], out: Observations | None = None) -> Observations:
        """Resume from `get_state` and return the observations at that point."""
        ...

    def close(self) -> None:
        """Release memory, files and directories."""
        ...


def write_out(observations: Observations, out: Observations | None) -> Observations:
    """The vector env's own arrays, or the caller's `out` with the same contents."""
    if out is None:
        return observations
    for key, array in observations.items():
        np.copyto(out[key], array, casting="no")
    return out


def check_actions(actions: np.ndarray | Sequence[int], num_envs: int, started: bool) -> np.ndarray:
    """[N]: one action per env; their values are not checked yet."""
    if not started:
        raise InvalidInput("step before reset: call reset() first")
    array = np.asarray(actions)
    if array.shape != (num_envs,):
        raise InvalidInput(f"actions of shape {array.shape} cannot be used; allowed: ({num_envs},)")
    return array


def check_action(action: object, names: Sequence[str], env: str) -> int:
    """`action` as an index into `names`, the actions of `env`."""
    integer = isinstance(action, int | np.integer) or (isinstance(action, np.ndarray) and action.shape == ())
    index = int(action) if integer else -1  # type: ignore[call-overload]
    if isinstance(action, bool) or not 0 <= index < len(names):
        allowed = ", ".join(f"{number} {name}" for number, name in enumerate(names))
        raise InvalidInput(f"action {action!r} cannot be used on {env}; allowed: {allowed}")
    return index

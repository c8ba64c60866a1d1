"""What a batch of environments in one process offers, whatever the environment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import gymnasium as gym
import numpy as np

from bonuslab.envs.errors import InvalidInput

Observations = dict[str, np.ndarray]
"""By key, [N, ...] for N lanes."""


class LaneError(RuntimeError):
    """An environment failed; the text says in which lane and on which task and context."""


@dataclass(slots=True)
class FinishedEpisode:
    """An episode that ended on this step."""

    lane: int
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
class LaneStep:
    """What one step of all lanes gave."""

    observations: Observations
    """[N, ...]; of a lane whose episode ended, already the first of its next episode."""
    reward: np.ndarray  # [N] float32
    terminated: np.ndarray  # [N] bool
    truncated: np.ndarray  # [N] bool
    finished: list[FinishedEpisode]


class Lanes(Protocol):
    """N environments stepped together. A lane whose episode ends starts the next one within the same step."""

    num_lanes: int
    observation_space: gym.spaces.Dict
    """Of one lane."""
    action_space: gym.spaces.Discrete
    """Of one lane."""

    @property
    def contexts(self) -> np.ndarray:
        """[N] int64: the context of each lane's running episode."""
        ...

    def reset(self, out: Observations | None = None) -> Observations:
        """Start a new episode in every lane; the first observations, written into `out` if given."""
        ...

    def step(self, actions: np.ndarray, out: Observations | None = None) -> LaneStep:
        """Take one action [N] in every lane. Without `out`, the next call overwrites the observations."""
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


def check_num_lanes(num_lanes: object) -> int:
    """`num_lanes` as a number."""
    if isinstance(num_lanes, bool) or not isinstance(num_lanes, int | np.integer) or num_lanes < 1:
        raise InvalidInput(f"num_lanes {num_lanes!r} cannot be used; allowed: whole numbers from 1")
    return int(num_lanes)


def hand_out(observations: Observations, out: Observations | None) -> Observations:
    """The lanes' own arrays, or a caller's with the same contents."""
    if out is None:
        return observations
    for key, array in observations.items():
        np.copyto(out[key], array, casting="no")
    return out


def actions_of_all(actions: np.ndarray | Sequence[int], num_lanes: int, started: bool) -> np.ndarray:
    """[N]: one action for every lane, not yet checked one by one."""
    if not started:
        raise InvalidInput("step before reset: call reset() first")
    array = np.asarray(actions)
    if array.shape != (num_lanes,):
        raise InvalidInput(f"actions of shape {array.shape} cannot be used; allowed: ({num_lanes},)")
    return array

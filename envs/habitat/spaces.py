"""Observation and action spaces, the same for both back ends.

Depth is half precision from 0 (here) to 1 (10 metres or more): a rollout of 128 steps of RGB and depth at 256 x 256
takes 40 MB per env instead of 59 MB, and the rounding error is below 5 mm, a twentieth of a depth camera's error.
"""

from __future__ import annotations

from typing import Final

import gymnasium as gym
import numpy as np

from bonuslab.envs.errors import InvalidInput, check_integer
from bonuslab.envs.habitat.simulator import Action

MAX_DEPTH_METRES: Final = 10.0
"""Depth that is 1 in an observation; Habitat's limit."""
SMALLEST_SIZE, LARGEST_SIZE = 16, 1024
MAX_STEPS: Final = 500
"""Steps per episode (paper, appendix)."""


def observation_space(size: int) -> gym.spaces.Dict:
    """Images of `size` x `size` pixels, position in metres, heading in radians and the previous action plus 1.

    Position and heading are relative to the start of the episode, where there is no previous action (0).
    """
    limit = np.finfo(np.float32).max
    return gym.spaces.Dict(
        {
            "rgb": gym.spaces.Box(0, 255, (size, size, 3), np.uint8),
            "depth": gym.spaces.Box(0.0, 1.0, (size, size, 1), np.float16),
            "gps": gym.spaces.Box(-limit, limit, (2,), np.float32),
            "compass": gym.spaces.Box(-np.pi, np.pi, (1,), np.float32),
            "previous_action": gym.spaces.Box(0, len(Action), (1,), np.uint8),
        }
    )


def action_space() -> gym.spaces.Discrete:
    """Stop, forward, left, right."""
    return gym.spaces.Discrete(len(Action))


def observation_buffers(num_envs: int, size: int) -> dict[str, np.ndarray]:
    """Arrays [N, ...] for the observations of N envs."""
    spaces = observation_space(size).spaces
    return {key: np.zeros((num_envs, *(box.shape or ())), box.dtype) for key, box in spaces.items()}


def check_action(action: object) -> Action:
    """`action` as an `Action`."""
    whole = isinstance(action, int | np.integer) and not isinstance(action, bool)
    if not whole or not 0 <= int(action) < len(Action):  # type: ignore[call-overload]
        names = ", ".join(f"{each.value} {each.name.lower()}" for each in Action)
        raise InvalidInput(f"action {action!r} cannot be used; allowed: {names}")
    return Action(int(action))  # type: ignore[call-overload]


def check_size(size: object) -> int:
    """`size` as a number of pixels."""
    return check_integer("size", size, SMALLEST_SIZE, LARGEST_SIZE)


def check_max_steps(max_steps: object) -> int:
    """`max_steps` as a number of steps."""
    return check_integer("max_steps", max_steps, 1)


def check_flag(name: str, value: object) -> bool:
    """`value` of the setting `name` as a bool."""
    if not isinstance(value, bool):
        raise InvalidInput(f"{name} {value!r} cannot be used; allowed: true, false")
    return value

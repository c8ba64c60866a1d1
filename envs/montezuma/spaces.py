"""The spaces of Montezuma's Revenge."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.montezuma.frames import FRAME, STACK
from bonuslab.envs.montezuma.game import action_names

_SHAPES = {"frames": (STACK, FRAME, FRAME), "room": (1,), "position": (2,)}


def observation_space() -> gym.spaces.Dict:
    """frames [4, 84, 84], and from the console's memory room [1] and position [2], all uint8.

    Networks look at the frames alone; room and position are there to be counted.
    """
    return gym.spaces.Dict({key: gym.spaces.Box(0, 255, shape, np.uint8) for key, shape in _SHAPES.items()})


def observation_buffers(num_envs: int) -> dict[str, np.ndarray]:
    """Zeros [N, ...] by key, for games to write into."""
    return {key: np.zeros((num_envs, *shape), np.uint8) for key, shape in _SHAPES.items()}


def action_space() -> gym.spaces.Discrete:
    """All 18 positions of joystick and button."""
    return gym.spaces.Discrete(len(action_names()))


def check_action(action: object) -> int:
    """`action` as an int, if there is such an action."""
    whole = isinstance(action, int | np.integer) or (isinstance(action, np.ndarray) and action.shape == ())
    number = int(action) if whole else -1  # type: ignore[call-overload]
    if isinstance(action, bool) or not 0 <= number < len(action_names()):
        names = ", ".join(f"{index} {name}" for index, name in enumerate(action_names()))
        raise InvalidInput(f"action {action!r} cannot be used on MontezumaRevenge; allowed: {names}")
    return number

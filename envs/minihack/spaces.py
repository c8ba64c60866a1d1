"""The spaces of MiniHack tasks."""

from __future__ import annotations

from typing import Final

import gymnasium as gym
import numpy as np
from nle import nethack

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.minihack.game import OBSERVATION_KEYS
from bonuslab.envs.minihack.tasks import Task

_INT32: Final = np.iinfo(np.int32)
_BOUNDS: Final = {"glyphs": (0, nethack.MAX_GLYPH), "blstats": (_INT32.min, _INT32.max), "message": (0, 255)}


def observation_space() -> gym.spaces.Dict:
    """glyphs [21, 79] int16, blstats [27] int64, message [256] uint8."""
    return gym.spaces.Dict(
        {key: gym.spaces.Box(*_BOUNDS[key], **nethack.OBSERVATION_DESC[key]) for key in OBSERVATION_KEYS}
    )


def action_space(task: Task) -> gym.spaces.Discrete:
    """One number for each of the task's actions."""
    return gym.spaces.Discrete(len(task.actions))


def check_action(action: object, task: Task) -> int:
    """`action` as an int, if the task has it."""
    whole = isinstance(action, int | np.integer) or (isinstance(action, np.ndarray) and action.shape == ())
    number = int(action) if whole else -1  # type: ignore[call-overload]
    if isinstance(action, bool) or not 0 <= number < len(task.actions):
        names = ", ".join(f"{index} {name}" for index, name in enumerate(task.action_names))
        raise InvalidInput(f"action {action!r} cannot be used on {task.name}; allowed: {names}")
    return number

"""The observation space of MiniHack tasks."""

from __future__ import annotations

from typing import Final

import gymnasium as gym
import numpy as np
from nle import nethack

from bonuslab.envs.minihack.game import OBSERVATION_KEYS

_INT32: Final = np.iinfo(np.int32)
_BOUNDS: Final = {"glyphs": (0, nethack.MAX_GLYPH), "blstats": (_INT32.min, _INT32.max), "message": (0, 255)}


def observation_space() -> gym.spaces.Dict:
    """glyphs [21, 79] int16, blstats [27] int64, message [256] uint8."""
    return gym.spaces.Dict(
        {key: gym.spaces.Box(*_BOUNDS[key], **nethack.OBSERVATION_DESC[key]) for key in OBSERVATION_KEYS}
    )

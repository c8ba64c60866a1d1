"""The observation space of Montezuma's Revenge."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from bonuslab.envs.montezuma.frames import FRAME, STACK

_SHAPES = {"frames": (STACK, FRAME, FRAME), "room": (1,), "position": (2,)}


def observation_space() -> gym.spaces.Dict:
    """frames [4, 84, 84], and room [1] and position [2] from the console's memory, all uint8.

    Networks see only the frames; room and position are for counting.
    """
    return gym.spaces.Dict({key: gym.spaces.Box(0, 255, shape, np.uint8) for key, shape in _SHAPES.items()})


def observation_buffers(num_envs: int) -> dict[str, np.ndarray]:
    """Zeros [N, ...] by key, for games to write into."""
    return {key: np.zeros((num_envs, *shape), np.uint8) for key, shape in _SHAPES.items()}

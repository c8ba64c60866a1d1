"""The observation space of a game."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from bonuslab.envs.atari.frames import FRAME, STACK
from bonuslab.envs.atari.games import Game


def observation_space(game: Game) -> gym.spaces.Dict:
    """frames [4, 84, 84] and, where the game's memory is known, room [1] and position [2]; all uint8.

    Networks see only the frames; room and position are for counting.
    """
    return gym.spaces.Dict({key: gym.spaces.Box(0, 255, shape, np.uint8) for key, shape in _shapes(game).items()})


def observation_buffers(game: Game, num_envs: int) -> dict[str, np.ndarray]:
    """Zeros [N, ...] by key, for games to write into."""
    return {key: np.zeros((num_envs, *shape), np.uint8) for key, shape in _shapes(game).items()}


def _shapes(game: Game) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {"frames": (STACK, FRAME, FRAME)}
    return shapes if game.memory is None else {**shapes, "room": (1,), "position": (2,)}

"""CartPole without velocities, a memory task: a policy must infer them from past observations."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from gymnasium.envs.classic_control import CartPoleEnv
from gymnasium.spaces import Box

_SHOWN: Final = [0, 2]
"""Position of the cart and angle of the pole, of (x, ẋ, θ, θ̇)."""


class StatelessCartPole(CartPoleEnv):
    """RLlib's environment of this name, with rendering."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.observation_space = Box(self.observation_space.low[_SHOWN], self.observation_space.high[_SHOWN])  # type: ignore[attr-defined]

    def reset(self, **settings: Any) -> tuple[np.ndarray, dict[str, Any]]:
        """Position and angle."""
        observation, info = super().reset(**settings)
        return observation[_SHOWN], info

    def step(self, action: Any) -> tuple[np.ndarray, Any, bool, bool, dict[str, Any]]:
        """Position and angle, reward, and how the episode ended."""
        observation, reward, terminated, truncated, info = super().step(action)
        return observation[_SHOWN], reward, terminated, truncated, info

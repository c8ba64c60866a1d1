"""Montezuma's Revenge on ALE's emulator with the paper's settings: exactly resumable, rooms read from memory."""

import gymnasium as gym

from bonuslab.envs.montezuma.env import MontezumaEnv
from bonuslab.envs.montezuma.episode import Rules
from bonuslab.envs.montezuma.vector_env import MontezumaVectorEnv

__all__ = ["MontezumaEnv", "MontezumaVectorEnv", "Rules"]

_NAME = "bonuslab/MontezumaRevenge"
if _NAME not in gym.registry:
    gym.register(_NAME, entry_point="bonuslab.envs.montezuma.env:MontezumaEnv", order_enforce=False)

"""Atari games on ALE's emulator with the paper's settings for Montezuma's Revenge; exactly resumable."""

import gymnasium as gym

from bonuslab.envs.atari.env import AtariEnv
from bonuslab.envs.atari.episode import Rules
from bonuslab.envs.atari.vector_env import AtariVectorEnv

__all__ = ["AtariEnv", "AtariVectorEnv", "Rules"]

# Any other game: gym.make("bonuslab/Atari", name="Pong").
for _id, _settings in (("bonuslab/Atari", {}), ("bonuslab/MontezumaRevenge", {"name": "MontezumaRevenge"})):
    if _id not in gym.registry:
        gym.register(_id, entry_point="bonuslab.envs.atari.env:AtariEnv", kwargs=_settings, order_enforce=False)

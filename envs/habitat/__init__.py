"""Reward-free exploration of houses: procedurally made apartments, or HM3D through habitat-sim."""

import gymnasium as gym

from bonuslab.envs.habitat.contexts import HabitatContexts
from bonuslab.envs.habitat.env import HabitatEnv
from bonuslab.envs.habitat.vector_env import HabitatVectorEnv

__all__ = ["HabitatContexts", "HabitatEnv", "HabitatVectorEnv"]

_ENTRY_POINT = "bonuslab.envs.habitat.env:HabitatEnv"
for _name, _backend in (("Apartments", "apartments"), ("HM3D", "hm3d")):
    if f"bonuslab/{_name}-v0" not in gym.registry:
        gym.register(
            f"bonuslab/{_name}-v0", entry_point=_ENTRY_POINT, kwargs={"backend": _backend}, order_enforce=False
        )

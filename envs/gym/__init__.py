"""Any Gymnasium environment with a Discrete or MultiDiscrete action space; a context is the seed of an episode."""

from bonuslab.envs.gym.registry import USER_ENVIRONMENTS, UserEnvironment, name_of, register_environment
from bonuslab.envs.gym.vector_env import GymVectorEnv

__all__ = ["USER_ENVIRONMENTS", "GymVectorEnv", "UserEnvironment", "name_of", "register_environment"]

"""MiniHack tasks as contextual decision processes: correct, reproducible from a context id, and fast."""

import gymnasium as gym

from bonuslab.envs.minihack.contexts import Contexts
from bonuslab.envs.minihack.env import MiniHackEnv, make
from bonuslab.envs.minihack.tasks import TASKS, Task, suites, task
from bonuslab.envs.minihack.vector_env import MiniHackVectorEnv

__all__ = ["TASKS", "Contexts", "MiniHackEnv", "MiniHackVectorEnv", "Task", "make", "suites", "task"]

_ENTRY_POINT = "bonuslab.envs.minihack.env:MiniHackEnv"
for _name in TASKS:
    if f"bonuslab/{_name}" not in gym.registry:
        gym.register(f"bonuslab/{_name}", entry_point=_ENTRY_POINT, kwargs={"task": _name}, order_enforce=False)

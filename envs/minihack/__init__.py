"""MiniHack tasks as contextual decision processes: correct, fast, and reproducible from a context id."""

import gymnasium as gym

from bonuslab.envs.minihack.contexts import MiniHackContexts
from bonuslab.envs.minihack.env import MiniHackEnv, make
from bonuslab.envs.minihack.tasks import TASKS, Task, suites, task
from bonuslab.envs.minihack.vector_env import MiniHackVectorEnv

__all__ = ["TASKS", "MiniHackContexts", "MiniHackEnv", "MiniHackVectorEnv", "Task", "make", "suites", "task"]

_ENTRY_POINT = "bonuslab.envs.minihack.env:MiniHackEnv"
for _name in TASKS:
    if f"bonuslab/{_name}" not in gym.registry:
        gym.register(f"bonuslab/{_name}", entry_point=_ENTRY_POINT, kwargs={"task": _name}, order_enforce=False)

"""Small environments: with every kind of observation, and with every kind of fault."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

VECTOR = spaces.Box(-1.0, 1.0, (3,), np.float32)


class EverythingEnv(gym.Env):
    """A random walk with all spaces; 4 steps, random after the reset too."""

    observation_space = spaces.Dict(
        {
            "vector": VECTOR,
            "scalar": spaces.Box(0, 9, (), np.int64),
            "switches": spaces.MultiBinary(4),
            "kinds": spaces.MultiDiscrete([3, 5]),
            "camera": spaces.Dict(
                {"rgb": spaces.Box(0, 255, (6, 5, 3), np.uint8), "angle": spaces.Discrete(4, start=-2)}
            ),
            "pair": spaces.Tuple([spaces.Discrete(2), spaces.Box(-np.inf, np.inf, (2, 2), np.float64)]),
            "words": spaces.Text(40),
        }
    )
    action_space = spaces.MultiDiscrete([2, 3], start=[0, 5])

    def __init__(self, length: int = 4) -> None:
        self.length = length

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps, self.actions = 0, []
        return self._observation(), {}

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(action)
        self.actions.append(action)
        self.steps += 1
        truncated = self.steps >= self.length
        info = {"is_success": True} if truncated and sum(int(action[0]) for action in self.actions) else {}
        return self._observation(), float(action[1]), False, truncated, info

    def _observation(self) -> Any:
        random = self.np_random
        return {
            "vector": random.uniform(-1, 1, 3).astype(np.float32),
            "scalar": int(random.integers(10)),
            "switches": random.integers(2, size=4).astype(np.int8),
            "kinds": np.array([random.integers(3), random.integers(5)]),
            "camera": {"rgb": random.integers(256, size=(6, 5, 3)).astype(np.uint8), "angle": random.integers(-2, 2)},
            "pair": (int(random.integers(2)), random.normal(size=(2, 2))),
            "words": f"step {self.steps} ü",
        }


class VectorEnv(gym.Env):
    """Zeros for ever; faults are made of it."""

    observation_space: spaces.Space = VECTOR
    action_space: spaces.Space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return self.observation(), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        return self.observation(), 0.0, False, False, {}

    def observation(self) -> Any:
        return np.zeros(3, np.float32)


class CrashingEnv(VectorEnv):
    def __init__(self, at: int = 2) -> None:
        self.at = at

    def observation(self) -> Any:
        if self.steps == self.at:
            return {}["the missing key"]
        return super().observation()


class UnseededEnv(VectorEnv):
    """Ignores its seed."""

    def observation(self) -> Any:
        return np.random.default_rng().uniform(size=3).astype(np.float32)


class LateLuckEnv(VectorEnv):
    """Ignores its seed from the seventh step on, which no short look reveals."""

    def observation(self) -> Any:
        luck = np.random.default_rng().uniform(0.1, 1.0, 3) if self.steps > 6 else np.full(3, self.steps / 10)
        return luck.astype(np.float32)


class ContinuousEnv(VectorEnv):
    action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)


def make_maze(size: int = 5, **settings: Any) -> gym.Env:
    from minigrid.envs import EmptyEnv

    return EmptyEnv(size=size, **settings)

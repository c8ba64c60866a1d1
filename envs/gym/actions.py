"""Actions: Gymnasium's Discrete and MultiDiscrete as one Discrete from 0."""

from __future__ import annotations

import math
from typing import Any, Final

import gymnasium as gym
import numpy as np

from bonuslab.envs.errors import InvalidInput

MAX_ACTIONS: Final = 4096
"""Combinations of a MultiDiscrete action: policies have one output for each."""


class ActionLayout:
    """How one number stands for an action of the environment."""

    def __init__(self, name: str, space: gym.Space[Any]) -> None:
        """`name` of the environment appears in messages."""
        self._name = name
        self._rows: np.ndarray | None = None
        self._start = 0
        if isinstance(space, gym.spaces.Discrete):
            count, self._start = int(space.n), int(space.start)
            self._low, self._sizes = np.array([self._start]), np.array([count])
        elif isinstance(space, gym.spaces.MultiDiscrete):
            count = math.prod(space.nvec.ravel().tolist())
            if count > MAX_ACTIONS:
                raise InvalidInput(
                    f"{name} has {count:,} combinations of actions ({space}); at most {MAX_ACTIONS:,} are supported"
                )
            self._low, self._sizes = space.start.ravel().astype(np.int64), space.nvec.ravel().astype(np.int64)
            places = np.unravel_index(np.arange(count), space.nvec.ravel())  # the last number changes fastest
            self._rows = (np.stack(places, 1).reshape(count, *space.shape) + space.start).astype(space.dtype)
        else:
            raise InvalidInput(f"{name} has actions {space}; only Discrete and MultiDiscrete actions are supported")
        self.space = gym.spaces.Discrete(count)

    def check(self, actions: np.ndarray) -> list[int]:
        """Actions [N] as numbers; an invalid one raises `InvalidInput`."""
        chosen = actions.tolist()
        if actions.dtype.kind not in "iu" or min(chosen) < 0 or max(chosen) >= self.space.n:
            raise InvalidInput(f"invalid actions {chosen} on {self._name}; allowed: 0 to {self.space.n - 1}")
        return chosen

    def encode(self, actions: np.ndarray) -> np.ndarray:
        """[B] int64: the environment's own actions [B, ...] as numbers, the inverse of `decode`."""
        low, high = self._low, self._low + self._sizes - 1
        places = actions.astype(np.int64).reshape(len(actions), -1) - low  # [B, k]
        if actions.dtype.kind not in "iu" or ((places < 0) | (places >= self._sizes)).any():
            raise InvalidInput(
                f"invalid actions {actions.tolist()} on {self._name}; allowed: {low.tolist()} to {high.tolist()}"
            )
        return np.ravel_multi_index(tuple(places.T), tuple(self._sizes))

    def decode(self, action: int) -> Any:
        """The environment's own action."""
        return action + self._start if self._rows is None else self._rows[action].copy()

    def names(self, env: gym.Env[Any, Any]) -> list[str]:
        """What the environment calls its actions (as MiniGrid and Atari do), or the actions themselves."""
        inner: Any = env.unwrapped
        if isinstance(getattr(inner, "actions", None), type) and len(inner.actions) == self.space.n:
            return [action.name for action in inner.actions]
        if hasattr(inner, "get_action_meanings"):
            return [str(name).lower() for name in inner.get_action_meanings()]
        return [str(self.decode(action)) for action in range(int(self.space.n))]

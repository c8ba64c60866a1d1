"""Observations of any space as a flat dictionary of arrays, checked as they are written.

| Gymnasium's space | ours |
|---|---|
| Box, MultiBinary, MultiDiscrete | the same; a scalar Box has shape [1] |
| Discrete(n) | MultiDiscrete([n]), so that every observation is an array |
| Text, and other strings such as MiniGrid's missions | Box [128] uint8: UTF-8, padded with zeros or truncated |
| Dict, Tuple | their parts, under keys joined by dots: `camera.rgb`, `0`, `1` |

A space that is neither Dict nor Tuple has the key `obs`. Where the environment has the attribute `agent_pos`, as
MiniGrid's do, the key `agent_position` is added: counts can use it, our networks ignore it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

import gymnasium as gym
import numpy as np

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.vector_env import EnvError, Observations

ONLY_KEY: Final = "obs"
POSITION_KEY: Final = "agent_position"
TEXT_BYTES: Final = 128
_INT32: Final = np.iinfo(np.int32)

Read = Callable[[Any], Any]
"""What an environment returned, as our space has it; raises `_Wrong`."""


class _Wrong(Exception):  # noqa: N818 (it never leaves this module)
    pass


class _Leaf(NamedTuple):
    key: str
    path: tuple[Any, ...]
    """Keys and indices that lead to it from the whole observation."""
    space: gym.Space[Any]
    read: Read


class ObservationLayout:
    """How the observations of one environment are laid out in arrays."""

    def __init__(self, name: str, env: gym.Env[Any, Any]) -> None:
        """`name` of the environment appears in messages."""
        self._name = name
        self._leaves = list(_leaves(name, env.observation_space, ()))
        self.has_position = getattr(env.unwrapped, "agent_pos", self) is not self
        spaces = {leaf.key: leaf.space for leaf in self._leaves}
        if len(spaces) < len(self._leaves):
            raise InvalidInput(f"{name} has two observations of one flattened name among {', '.join(sorted(spaces))}")
        self.has_position &= POSITION_KEY not in spaces
        if self.has_position:
            spaces[POSITION_KEY] = gym.spaces.Box(_INT32.min, _INT32.max, (2,), np.int32)
        if not spaces:
            raise InvalidInput(f"{name} has no observations")
        self.space = gym.spaces.Dict(spaces)

    def buffers(self, num_envs: int) -> Observations:
        """[N, ...] for each key."""
        spaces = self.space.spaces.items()
        return {key: np.zeros((num_envs, *(space.shape or ())), space.dtype) for key, space in spaces}

    def write(self, observation: Any, env: gym.Env[Any, Any], out: Observations) -> None:
        """Copy an observation into one environment's arrays; a wrong one raises `EnvError`."""
        for key, path, _, read in self._leaves:
            value = observation
            try:
                for part in path:
                    value = value[part]
                out[key][...] = read(value)
            except (KeyError, IndexError, TypeError) as error:
                raise EnvError(f"{self._name} returned an observation without {key!r}") from error
            except _Wrong as wrong:
                raise EnvError(f"{self._name} returned an observation whose {key!r} {wrong}") from None
        if self.has_position:
            out[POSITION_KEY][...] = env.unwrapped.agent_pos  # type: ignore[attr-defined]


def _leaves(name: str, space: gym.Space[Any], path: tuple[Any, ...]) -> Iterator[_Leaf]:
    key = ".".join(map(str, path)) or ONLY_KEY
    match space:
        case gym.spaces.Dict():
            for part, inner in space.spaces.items():
                yield from _leaves(name, inner, (*path, part))
        case gym.spaces.Tuple():
            for index, inner in enumerate(space.spaces):
                yield from _leaves(name, inner, (*path, index))
        case gym.spaces.Box():
            shape = space.shape or (1,)
            shown = gym.spaces.Box(space.low.reshape(shape), space.high.reshape(shape), shape, space.dtype)  # type: ignore[arg-type]
            yield _Leaf(key, path, shown, _array_reader(space))
        case gym.spaces.MultiBinary():
            yield _Leaf(key, path, gym.spaces.MultiBinary(space.shape), _array_reader(space))
        case gym.spaces.MultiDiscrete():
            yield _Leaf(key, path, space, _numbers_reader(space))
        case gym.spaces.Discrete():
            start, count = int(space.start), int(space.n)
            yield _Leaf(key, path, gym.spaces.MultiDiscrete([count], start=[start]), _number_reader(start, count))
        case _ if space.dtype is not None and space.dtype.kind == "U":
            yield _Leaf(key, path, gym.spaces.Box(0, 255, (TEXT_BYTES,), np.uint8), _letters)
        case _:
            raise InvalidInput(
                f"{name} has the observation {key!r} of space {space}, which is not supported; allowed: Box, Discrete, "
                "MultiBinary, MultiDiscrete, Text, and Dict or Tuple of these"
            )


def _array_reader(space: gym.Space[Any]) -> Read:
    shape, dtype = space.shape, np.dtype(space.dtype)

    def read(value: Any) -> np.ndarray:
        array = np.asarray(value)
        if array.shape != shape:
            raise _Wrong(f"has shape {array.shape}; its space has {shape}")
        if array.dtype != dtype and not np.can_cast(array.dtype, dtype, "same_kind"):
            raise _Wrong(f"has type {array.dtype}; its space has {dtype}")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise _Wrong("contains NaN or infinity")
        return array

    return read


def _number_reader(start: int, count: int) -> Read:
    def read(value: Any) -> int:
        try:
            number = operator.index(value)
        except TypeError:
            raise _Wrong(f"is {value!r}; its space has whole numbers") from None
        if not start <= number < start + count:
            raise _Wrong(f"is {number}; its space has {start} to {start + count - 1}")
        return number

    return read


def _numbers_reader(space: gym.spaces.MultiDiscrete) -> Read:
    def read(value: Any) -> np.ndarray:
        array = np.asarray(value)
        if array.shape != space.shape or array.dtype.kind not in "iu":
            raise _Wrong(f"is {value!r}; its space has whole numbers of shape {space.shape}")
        if (array < space.start).any() or (array >= space.start + space.nvec).any():
            raise _Wrong(f"is {value!r}, which is outside of its space")
        return array

    return read


@lru_cache(maxsize=1024)
def _letters(text: Any) -> np.ndarray:
    if not isinstance(text, str):
        raise _Wrong(f"is {text!r}; its space has texts")
    return np.frombuffer(text.encode()[:TEXT_BYTES].ljust(TEXT_BYTES, b"\0"), np.uint8)

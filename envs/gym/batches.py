"""Batches of observations and actions from a loop that is not ours, NumPy or torch, as flat arrays."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.gym.actions import ActionLayout
from bonuslab.envs.gym.observations import ObservationLayout
from bonuslab.envs.vector_env import Observations

_NAME = "the environment"


class _Spaces(gym.Env[Any, Any]):
    """The spaces of an environment that is not here."""

    def __init__(self, observation_space: gym.Space[Any]) -> None:
        self.observation_space = observation_space


class Batches:
    """Reads batches of one environment's spaces; a value that does not fit them raises an error."""

    def __init__(self, observation_space: gym.Space[Any], action_space: gym.Space[Any]) -> None:
        self._env = _Spaces(observation_space)
        self._layout = ObservationLayout(_NAME, self._env)
        self.observation_space = self._layout.space
        """Of flat observations; see `observations.py`."""
        self._action_space = action_space
        self._actions: ActionLayout | None = None
        self.not_discrete = ""
        """Why actions have no numbers, if they have none: one sentence."""
        try:
            self._actions = ActionLayout(_NAME, action_space)
        except InvalidInput as error:
            self.not_discrete = str(error)

    @property
    def num_actions(self) -> int:
        """How many actions there are; 0 if they have no numbers."""
        return 0 if self._actions is None else int(self._actions.space.n)

    def observations(self, name: str, batch: Any, lead: tuple[int, ...]) -> Observations:
        """[*lead, ...] for each key, as copies; `name` of the argument appears in messages."""
        arrays = _arrays(name, self._env.observation_space, batch, lead)
        count = int(np.prod(lead, dtype=np.int64))
        rows = self._layout.buffers(count)
        for row, place in enumerate(np.ndindex(*lead)):
            out = {key: array[row] for key, array in rows.items()}
            self._layout.write(_at(self._env.observation_space, arrays, place), self._env, out)
        return {key: array.reshape(*lead, *array.shape[1:]) for key, array in rows.items()}

    def leaf(self, batch: Any) -> Any:
        """One part of a batch of observations, which has its leading axes, type and device."""
        space = self._env.observation_space
        while parts := _parts(space):
            name, space = next(iter(parts.items()))
            batch = _part("obs", batch, name, parts)
        return batch

    def actions(self, batch: Any, lead: tuple[int, ...]) -> np.ndarray:
        """[*lead] int64; None in every place if actions have no numbers."""
        array = _checked("action", self._action_space, batch, lead)
        if self._actions is None:
            return np.full(lead, None)
        return self._actions.encode(array.reshape(-1, *(self._action_space.shape or ()))).reshape(lead)


def as_array(value: Any) -> np.ndarray:
    """An array, a tensor of any device, or a sequence, as an array."""
    return value.detach().cpu().numpy() if hasattr(value, "detach") else np.asarray(value)


def _arrays(name: str, space: gym.Space[Any], batch: Any, lead: tuple[int, ...]) -> Any:
    """The batch with an array of the space's type for each part."""
    parts = _parts(space)
    if not parts:
        return _checked(name, space, batch, lead)
    return {
        part: _arrays(f"{name}[{part!r}]", inner, _part(name, batch, part, parts), lead)
        for part, inner in parts.items()
    }


def _parts(space: gym.Space[Any]) -> dict[Any, gym.Space[Any]]:
    """The spaces in a Dict or Tuple; empty for other spaces."""
    if isinstance(space, gym.spaces.Tuple):
        return dict(enumerate(space.spaces))
    return space.spaces if isinstance(space, gym.spaces.Dict) else {}


def _part(name: str, batch: Any, part: Any, parts: dict[Any, Any]) -> Any:
    try:
        return batch[part]
    except (KeyError, IndexError, TypeError) as error:
        raise InvalidInput(f"{name} must have the parts {', '.join(map(repr, parts))}") from error


def _checked(name: str, space: gym.Space[Any], batch: Any, lead: tuple[int, ...]) -> np.ndarray:
    array = as_array(batch)
    expected = (*lead, *(space.shape or ()))
    if array.shape != expected:
        raise InvalidInput(f"{name} has shape {array.shape}, not {expected}; spaces must be those of a single env")
    if array.dtype.kind == "f" and space.dtype is not None and np.dtype(space.dtype).kind in "iub":
        with np.errstate(invalid="ignore"):
            whole = array.astype(space.dtype)  # loops keep whole numbers in float tensors
        return whole if (whole == array).all() else array
    return array


def _at(space: gym.Space[Any], arrays: Any, place: tuple[int, ...]) -> Any:
    """One environment's observation."""
    if parts := _parts(space):
        return {part: _at(inner, arrays[part], place) for part, inner in parts.items()}
    value = arrays[place]
    return str(value) if isinstance(value, np.str_) else value

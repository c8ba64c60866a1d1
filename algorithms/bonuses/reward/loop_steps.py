"""Reads the steps of a user's loop and follows its episodes."""

from __future__ import annotations

import warnings
from typing import Any, Final

import gymnasium as gym
import numpy as np

from bonuslab.algorithms.data.transitions import ARGUMENTS, Rows, Transitions
from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.envs.gym.autoreset import MODES, final_observations, mode_name, true_next_obs
from bonuslab.envs.gym.batches import Batches, as_array

Array = np.ndarray
_KEPT: Final = ("first", "episode", "resetting")
_CLOSE: Final = 1e-4
"""Difference up to which two observations are the same: loops convert float64 to float32."""

_ENOUGH_EPISODES: Final = 8


class LoopSteps(Batches):
    """Turns a loop's arguments into `Transitions`; knows which envs start an episode or are about to be reset."""

    def __init__(
        self, observation_space: gym.Space[Any], action_space: gym.Space[Any], num_envs: int, autoreset: Any
    ) -> None:
        super().__init__(observation_space, action_space)
        self.autoreset = mode_name(autoreset)
        if self.autoreset not in MODES:
            raise unknown("autoreset mode", autoreset, MODES)
        self.num_envs = num_envs
        self._episode = np.zeros(num_envs, np.int64)
        self._warned = self._different_starts = False
        self._same_starts = 0
        self.reset()

    def reset(self) -> None:
        """A new episode starts in every env."""
        self._episode = self._episode + 1
        self._first = np.ones(self.num_envs, bool)
        self._resetting = np.zeros(self.num_envs, bool)  # the next step only resets these envs
        self._last: Rows | None = None  # the last step's s_{t+1}

    def set_first(self, first: Any) -> None:
        """Say which envs [N] start an episode with the next step."""
        started = _flags("first", first, (self.num_envs,))
        self._episode = self._episode + (started & ~self._first)
        self._first = started

    def read(
        self,
        lead: tuple[int, ...],
        obs: Any,
        action: Any,
        next_obs: Any,
        terminated: Any,
        truncated: Any,
        extra: dict[str, Any],
        infos: Any = None,
    ) -> tuple[Transitions, Rows | None]:
        """[T, N] transitions of arguments with the axes `lead`, and the row after them if `obs` has one.

        `lead` is (T, N), (N,) for one step, or () for one step of one env.
        """
        terminated, truncated = _flags("terminated", terminated, lead), _flags("truncated", truncated, lead)
        if len(lead) == 1:
            next_obs = self._true_next(next_obs, infos, terminated | truncated)
        more = len(lead) == 2 and len(self.leaf(obs)) == lead[0] + 1
        rows = self.observations("obs", obs, (lead[0] + 1, *lead[1:]) if more else lead)
        last = {key: array[-1] for key, array in rows.items()} if more else None
        rows = {key: array[:-1] for key, array in rows.items()} if more else rows
        first = np.empty(lead, bool)  # set by `_follow`, as are the next two
        steps = Transitions(
            observations=rows,
            following=self.observations("next_obs", next_obs, lead),
            extra=self._extra(extra, lead),
            action=self.actions(action, lead),
            first=first,
            terminated=terminated,
            truncated=truncated,
            episode=np.empty(lead, np.int64),
            valid=first.copy(),
        ).map(lambda array: array.reshape(*(1, 1, *lead)[-2:], *array.shape[len(lead) :]))
        self._follow(steps)
        self._check_order(steps)
        return steps, last

    def state_dict(self) -> dict[str, Any]:
        """Where each env is in its episode."""
        return {name: getattr(self, f"_{name}").copy() for name in _KEPT}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`."""
        if len(state["first"]) != self.num_envs:
            raise InvalidInput(f"the state has {len(state['first'])} envs; this explorer has {self.num_envs}")
        for name in _KEPT:
            setattr(self, f"_{name}", state[name].copy())
        self._last = None

    def _follow(self, steps: Transitions) -> None:
        """Set `first`, `episode` and `valid`."""
        for t, done in enumerate(steps.done):
            valid = ~self._resetting
            steps.first[t], steps.episode[t], steps.valid[t] = self._first, self._episode, valid
            ended = done & valid
            self._first = np.where(valid, ended, self._first)
            self._episode = self._episode + ended
            self._resetting = ended if self.autoreset == "next_step" else np.zeros_like(ended)

    def _true_next(self, next_obs: Any, infos: Any, done: Array) -> Any:
        found = {} if infos is None else final_observations(infos, done)
        if self.autoreset != "same_step":
            if found:
                raise InvalidInput("infos has final observations: create the Explorer with autoreset='same_step'")
            return next_obs
        missing = [n for n in np.flatnonzero(done).tolist() if n not in found]
        if missing:
            raise InvalidInput(f"the episode of env {missing[0]} ended: pass infos=… with its final observation")
        return true_next_obs(next_obs, infos, done)

    def _extra(self, extra: dict[str, Any], lead: tuple[int, ...]) -> Rows:
        """Columns of a fragment by name."""
        columns = {}
        for column, argument in ARGUMENTS.items():
            if (value := extra.pop(argument, None)) is None:
                continue
            array = as_array(value).astype(np.float32)
            size = {"reward": (), "logits": (self.num_actions,), "features": array.shape[-1:]}[argument]
            if array.shape != (*lead, *size):
                raise InvalidInput(f"{argument} has shape {array.shape}, not {(*lead, *size)}")
            columns[column] = array
        if extra:
            raise unknown("argument", next(iter(extra)), ARGUMENTS.values())
        return columns

    def _check_order(self, steps: Transitions) -> None:
        """Warn, once, about observations that do not continue those of the step before."""
        last, self._last = self._last, {key: rows[-1] for key, rows in steps.following.items()}
        if self._warned:
            return
        same = np.ones(steps.action.shape, bool)
        for key, rows in steps.observations.items():
            before = np.concatenate([rows[:1] if last is None else last[key][None], steps.following[key][:-1]])
            equal = np.isclose(before, rows, _CLOSE, _CLOSE) if rows.dtype.kind == "f" else before == rows
            same &= equal.reshape(*same.shape, -1).all(-1)
        text = ""
        if (steps.valid & ~steps.first & ~same).any():
            text = (
                "obs is not the next_obs of the step before although the episode continues: pass the true next "
                "observation, and call reset() where the loop starts new episodes"
            )
        elif self.autoreset == "disabled" and self._suspect(
            steps.first[int(last is None) :], same[int(last is None) :]
        ):
            text = (
                "after the end of an episode, obs is the same as next_obs of the step before: if the vector env resets "
                "itself, create the Explorer with autoreset=envs.metadata['autoreset_mode'] and pass infos=infos"
            )
        if text:
            self._warned = True
            warnings.warn(text, stacklevel=4)

    def _suspect(self, first: Array, same: Array) -> bool:
        """Whether all of the first episodes seem to end where the next one starts; a few do by chance."""
        self._different_starts |= bool((first & ~same).any())
        self._same_starts += int((first & same).sum())
        return not self._different_starts and self._same_starts >= _ENOUGH_EPISODES


def _flags(name: str, flags: Any, shape: tuple[int, ...]) -> Array:
    array = as_array(flags).astype(bool)
    if array.shape != shape:
        raise InvalidInput(f"{name} has shape {array.shape}, not {shape}")
    return array

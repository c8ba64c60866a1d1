"""Transitions from a loop that is not ours, and the fragments they make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np

from bonuslab.algorithms.data.fragment import Array, Fragment
from bonuslab.envs.errors import InvalidInput

Rows = dict[str, Array]
ARGUMENTS: Final = {"reward": "reward", "behaviour_logits": "logits", "policy_features": "features"}
"""Columns of a fragment that a loop may leave out, and what its arguments call them."""


class LoopFragment(Fragment):
    """A fragment without some columns: a bonus that reads one of them raises `InvalidInput`."""

    def __getattr__(self, name: str) -> Any:  # only for attributes that are not there
        if name in ARGUMENTS:
            raise InvalidInput(f"the bonus needs {ARGUMENTS[name]} of every step: pass {ARGUMENTS[name]}=…")
        if name == "context":
            raise InvalidInput("the bonus needs the context of every episode, which only bonuslab's own runs know")
        raise AttributeError(name)


@dataclass(frozen=True)
class Transitions:
    """T steps of N envs, each with its own s_t and true s_{t+1}."""

    observations: Rows
    """[T, N, ...] each: s_t."""
    following: Rows
    """[T, N, ...] each: s_{t+1}; at the end of an episode its final state."""
    extra: Rows
    """[T, N, ...] each: the columns of `ARGUMENTS` that the loop has."""
    action: Array
    """[T, N]."""
    first: Array
    """[T, N] bool: s_t is the first state of an episode."""
    terminated: Array
    truncated: Array
    episode: Array
    """[T, N] int64."""
    valid: Array
    """[T, N] bool: false where the env was only reset, which is no transition."""

    @property
    def done(self) -> Array:
        """[T, N] bool."""
        return self.terminated | self.truncated

    def map(self, change: Callable[..., Array], *others: Transitions) -> Transitions:
        """Every array changed alike, together with those of `others`."""

        def changed(name: str) -> Any:
            mine, theirs = getattr(self, name), [getattr(other, name) for other in others]
            if not isinstance(mine, dict):
                return change(mine, *theirs)
            return {key: change(array, *(part[key] for part in theirs)) for key, array in mine.items()}

        return Transitions(**{field.name: changed(field.name) for field in fields(self)})

    def fragment(
        self, env_index: Array, sequence: Array, last: Rows | None = None, linked: Array | None = None
    ) -> LoopFragment:
        """One fragment of all transitions.

        `last` [N, ...] is the row after the last step, s_T by default. `linked` [T, N] says where s_{t+1} is the next
        row; by default everywhere but at the ends of episodes.
        """
        linked = ~self.done if linked is None else linked
        final_index = np.argwhere(~linked)
        step, env = final_index.T
        last = {key: rows[-1] for key, rows in self.following.items()} if last is None else last
        features = self.extra.get("policy_features")
        if features is not None:  # the policy has not seen the row after the last step
            features = np.concatenate([features, np.full_like(features[:1], np.nan)])
        fragment = LoopFragment(
            observations={key: np.concatenate([rows, last[key][None]]) for key, rows in self.observations.items()},
            action=self.action,
            behaviour_logits=self.extra.get("behaviour_logits", self.action),
            reward=self.extra.get("reward", self.action),
            first=np.concatenate([self.first, self.done[-1:]]),
            terminated=self.terminated,
            truncated=self.truncated,
            episode=np.concatenate([self.episode, self.episode[-1:] + self.done[-1:]]),
            context=self.episode,
            env_index=env_index,
            sequence=sequence,
            finals={key: rows[step, env] for key, rows in self.following.items()},
            final_index=final_index,
            policy_features=features,
        )
        for name in ("context", *ARGUMENTS):
            if name not in self.extra and name != "policy_features":
                delattr(fragment, name)
        return fragment


def join(parts: Sequence[Transitions]) -> Transitions:
    """Consecutive transitions of the same envs as one."""
    return parts[0].map(lambda *arrays: np.concatenate(arrays), *parts[1:])


def rectangle(steps: Transitions) -> tuple[Transitions, Array, Transitions | None]:
    """The valid transitions as [T', N] for learning, where s_{t+1} is the next row [T', N], and what is left over.

    Without reset steps this is `steps`. Otherwise the rows of an env move up over its reset steps, and columns are
    filled up from the next env. Fewer than N of the latest transitions are left over; T' can be 0.
    """
    N = steps.action.shape[1]
    flat = np.flatnonzero(steps.valid)
    T = len(flat) // N
    taken, rest = flat[: T * N], flat[T * N :]
    step, env = np.divmod(taken, N)
    order = np.lexsort((step, env))
    step, env = step[order].reshape(N, T).T, env[order].reshape(N, T).T  # [T', N]
    chosen = steps.map(lambda rows: rows[step, env])
    linked = ~chosen.done
    linked[:-1] &= (env[1:] == env[:-1]) & (step[1:] == step[:-1] + 1) & ~chosen.first[1:]
    if not len(rest):
        return chosen, linked, None
    unused = np.zeros_like(steps.valid)
    unused.flat[rest] = True
    begin = rest[0] // N
    left = steps.map(lambda rows: rows[begin:])
    left.valid[...] = unused[begin:]
    return chosen, linked, left

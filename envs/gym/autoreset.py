"""The true next observation of a step, whatever a vector env does at the end of an episode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

MODES: Final = ("disabled", "same_step", "next_step")
"""Gymnasium's `AutoresetMode`, in lower case."""


def mode_name(mode: Any) -> str:
    """A mode's name, given as a name or as Gymnasium's `AutoresetMode` (`envs.metadata["autoreset_mode"]`)."""
    return str(getattr(mode, "name", mode)).lower()


def final_observations(infos: Any, done: Any) -> dict[int, Any]:
    """The final observation of every episode that ended in this step, by env, as far as `infos` has them.

    `infos` are those of a Gymnasium vector env (`infos["final_obs"]`) or a Stable-Baselines3 one
    (`infos[n]["terminal_observation"]`).
    """
    if isinstance(infos, Mapping):
        found: Sequence[Any] = infos.get("final_obs", [None] * len(done))
    else:
        found = [info.get("terminal_observation") for info in infos]
    return {int(n): found[n] for n in np.flatnonzero(np.asarray(done)) if found[n] is not None}


def true_next_obs(next_obs: Any, infos: Any, done: Any) -> Any:
    """`next_obs` with the final observation of every episode that ended (`done` [N]).

    A vector env with `AutoresetMode.SAME_STEP`, as Stable-Baselines3's are, returns the first observation of the next
    episode and puts the final one into `infos`. With `NEXT_STEP` and `DISABLED`, `next_obs` is the true one already;
    with `NEXT_STEP` the step after it only resets the env and is no transition at all.
    """
    for n, final in final_observations(infos, done).items():
        next_obs = _replaced(next_obs, n, final)
    return next_obs


def _replaced(batch: Any, n: int, row: Any) -> Any:
    """A copy of the batch with another row."""
    if isinstance(row, Mapping):
        return {key: _replaced(part, n, row[key]) for key, part in batch.items()}
    if isinstance(row, tuple):
        return tuple(_replaced(part, n, inner) for part, inner in zip(batch, row, strict=True))
    if isinstance(batch, tuple):  # texts
        return (*batch[:n], row, *batch[n + 1 :])
    changed = batch.clone() if hasattr(batch, "clone") else batch.copy()
    changed[n] = changed.new_tensor(row) if hasattr(batch, "new_tensor") else row
    return changed

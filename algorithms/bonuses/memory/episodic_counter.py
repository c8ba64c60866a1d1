"""N_e(s): visits to a state within its episode, for every env, across fragments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.features.state_features import feature_of, fragment_keys
from bonuslab.algorithms.bonuses.memory.count_table import CountTable, count_episodes, count_rows
from bonuslab.algorithms.bonuses.memory.episode_memory import EpisodeMemory
from bonuslab.algorithms.data.fragment import Fragment

Array = np.ndarray


@dataclass(frozen=True)
class Visits:
    """Visits within the episode, including the present one."""

    current: Array
    """[T, N] float64: N_e(s_t) when the action was taken."""
    following: Array
    """[T, N] float64: N_e(s_{t+1}) after reaching s_{t+1}."""


class EpisodicCounter:
    """Counts a state feature within each env's running episode.

    The first state of an episode counts as a visit. After a lost fragment the env starts over, as if the episode had
    begun there. `released` counts as the authors' program: see `count_rows`.
    """

    def __init__(self, feature: str, setting: Setting, released: bool = False) -> None:
        self._released = released
        self._feature = feature_of(feature, setting.observation_space)
        self._memory: EpisodeMemory[CountTable] = EpisodeMemory(CountTable)

    def count(self, fragment: Fragment) -> Visits:
        """Count the fragment's states; call it once per fragment, in order."""
        T, N = fragment.action.shape
        keys = fragment_keys(self._feature, fragment)
        if self._released:
            return self._count_rows(fragment, keys[: (T + 1) * N].reshape(T + 1, N))
        current = np.ascontiguousarray(keys[: T * N].reshape(T, N).T)  # [N, T]
        following = np.ascontiguousarray(keys[fragment.next_state_index()].T)  # [N, T]
        first = np.ascontiguousarray(fragment.first[:T].T)  # [N, T]
        visits = np.empty((N, T, 2), np.uint64)
        for n in range(N):
            counts = self._memory.recall(fragment, n)
            counts.table, counts.size = count_episodes(
                counts.table, counts.size, current[n], following[n], first[n], visits[n]
            )
            self._memory.store(fragment, n, counts)
        return Visits(visits[:, :, 0].T.astype(np.float64), visits[:, :, 1].T.astype(np.float64))

    def _count_rows(self, fragment: Fragment, keys: Array) -> Visits:
        """Counts of rows [T + 1, N], as released."""
        visits = np.empty(keys.shape, np.uint64)
        for n in range(fragment.num_envs):
            counts = self._memory.recall(fragment, n)
            counts.table, counts.size, visits[:, n] = count_rows(
                counts.table, counts.size, np.ascontiguousarray(keys[:, n]), np.ascontiguousarray(fragment.first[:, n])
            )
            self._memory.store(fragment, n, counts)
        exact = visits.astype(np.float64)
        return Visits(exact[:-1], exact[1:])

    def state_dict(self) -> dict[str, Any]:
        """Counts of the running episodes, by env index."""
        kept = self._memory.state_dict()["kept"]
        return {"envs": {n: (*place, counts.state_dict()) for n, (*place, counts) in kept.items()}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`."""
        kept = {n: (*place, CountTable.from_state(counts)) for n, (*place, counts) in state["envs"].items()}
        self._memory.load_state_dict({"kept": kept})

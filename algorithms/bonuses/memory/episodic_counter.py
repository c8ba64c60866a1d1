"""N_e(s): how often a state has been visited within its episode, for every environment, across fragments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.features.state_features import feature_of, fragment_keys
from bonuslab.algorithms.bonuses.memory.count_table import CountTable, count_episodes
from bonuslab.algorithms.bonuses.memory.episode_memory import EpisodeMemory
from bonuslab.algorithms.data.fragment import Fragment

Array = np.ndarray


@dataclass(frozen=True)
class Visits:
    """Visits within the episode, each state's present one included."""

    current: Array
    """[T, N] float64: N_e(s_t) as the action was taken."""
    following: Array
    """[T, N] float64: N_e(s_{t+1}) once s_{t+1} is reached."""


class EpisodicCounter:
    """Counts a feature of the states of each environment's running episode.

    The episode's first state is a visit too. After a lost fragment the environment starts anew with the first state it
    shows, as if the episode had begun there.
    """

    def __init__(self, feature: str, setting: Setting) -> None:
        self._feature = feature_of(feature, setting.observation_space)
        self._memory: EpisodeMemory[CountTable] = EpisodeMemory(CountTable)

    def count(self, fragment: Fragment) -> Visits:
        """Count the fragment's states; call it once a fragment, in order."""
        T, N = fragment.action.shape
        keys = fragment_keys(self._feature, fragment)
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

    def state_dict(self) -> dict[str, Any]:
        """The running episodes' counts, by environment."""
        kept = self._memory.state_dict()["kept"]
        envs = {
            env_index: (sequence, episode, counts.state_dict())
            for env_index, (sequence, episode, counts) in kept.items()
        }
        return {"feature": self._feature.name, "envs": envs}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`."""
        if state["feature"] != self._feature.name:
            raise ValueError(f"saved counts are of {state['feature']!r}, this bonus counts {self._feature.name!r}")
        kept = {
            env_index: (sequence, episode, CountTable.from_state(counts))
            for env_index, (sequence, episode, counts) in state["envs"].items()
        }
        self._memory.load_state_dict({"kept": kept})

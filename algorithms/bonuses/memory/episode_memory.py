"""Memory of each env's running episode, kept across fragments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from bonuslab.algorithms.data.fragment import Fragment

M = TypeVar("M")


class EpisodeMemory(Generic[M]):
    """One memory of type M per env, kept while the same episode continues without a gap.

    `recall` returns the memory that the env's first row continues, or a fresh one; `store` keeps the memory after the
    last row. A lost fragment (a gap in `sequence`) or another episode number gives a fresh memory, so nothing leaks
    between episodes.
    """

    def __init__(self, fresh: Callable[[], M]) -> None:
        self.fresh = fresh
        """Makes a memory for an episode that starts inside the fragment."""
        self._kept: dict[int, tuple[int, int, M]] = {}

    def recall(self, fragment: Fragment, column: int) -> M:
        """The memory of the episode in row 0 of this column."""
        kept = self._kept.get(int(fragment.env_index[column]))
        if kept is None or fragment.first[0, column]:
            return self.fresh()
        sequence, episode, memory = kept
        continues = sequence + 1 == fragment.sequence[column] and episode == fragment.episode[0, column]
        return memory if continues else self.fresh()

    def store(self, fragment: Fragment, column: int, memory: M) -> None:
        """Keep `memory` for the episode in the last row of this column."""
        self._kept[int(fragment.env_index[column])] = (
            int(fragment.sequence[column]),
            int(fragment.episode[-1, column]),
            memory,
        )

    def state_dict(self) -> dict[str, Any]:
        """All memories, by env index."""
        return {"kept": dict(self._kept)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`."""
        self._kept = dict(state["kept"])

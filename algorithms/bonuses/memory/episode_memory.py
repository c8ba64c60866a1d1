"""What a bonus remembers of each environment's running episode between fragments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from bonuslab.algorithms.data.fragment import Fragment

M = TypeVar("M")


class EpisodeMemory(Generic[M]):
    """One memory of type M for every environment, kept only while the same episode runs on without a gap.

    `recall` hands out the memory an environment's first row continues, or a fresh one; `store` puts back the memory
    after the last row. A fragment that was lost (a gap in `sequence`) or another episode number means a fresh
    memory, so that nothing leaks from one episode into another.
    """

    def __init__(self, fresh: Callable[[], M]) -> None:
        self._fresh = fresh
        self._kept: dict[int, tuple[int, int, M]] = {}

    def recall(self, fragment: Fragment, column: int) -> M:
        """The memory of the episode that row 0 of this column belongs to."""
        kept = self._kept.get(int(fragment.env_index[column]))
        if kept is None or fragment.first[0, column]:
            return self._fresh()
        sequence, episode, memory = kept
        continues = sequence + 1 == fragment.sequence[column] and episode == fragment.episode[0, column]
        return memory if continues else self._fresh()

    def store(self, fragment: Fragment, column: int, memory: M) -> None:
        """Keep `memory` for the episode that the row after the last step belongs to."""
        self._kept[int(fragment.env_index[column])] = (
            int(fragment.sequence[column]),
            int(fragment.episode[-1, column]),
            memory,
        )

    def fresh(self) -> M:
        """A memory for an episode that starts inside the fragment."""
        return self._fresh()

    def state_dict(self) -> dict[str, Any]:
        """Everything remembered, by environment."""
        return {"kept": dict(self._kept)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`."""
        self._kept = dict(state["kept"])

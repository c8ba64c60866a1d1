"""The states of a fragment that a model trains on."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from bonuslab.algorithms.data.fragment import Fragment


def visited_rows(fragment: Fragment) -> Tensor:
    """Rows of `Fragment.states()` with every s_{t+1} and every episode's first state: each visit is in one fragment."""
    starts = np.flatnonzero(fragment.first[:-1])
    return torch.from_numpy(np.concatenate([starts, fragment.next_state_index().ravel()]))


class RandomSubset:
    """Keeps each row with probability `fraction`, and at least one; a new draw every time."""

    def __init__(self, fraction: float, seed: int) -> None:
        self._fraction = fraction
        self._random = torch.Generator().manual_seed(seed)

    def of(self, rows: Tensor) -> Tensor:
        """The rows kept, in order."""
        if self._fraction >= 1:
            return rows
        kept = torch.rand(len(rows), generator=self._random) < self._fraction
        return rows[kept] if kept.any() else rows[:1]

    def state_dict(self) -> dict[str, Tensor]:
        """The state of the random generator."""
        return {"random": self._random.get_state()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """The inverse of `state_dict`."""
        self._random.set_state(state["random"])

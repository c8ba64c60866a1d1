"""Which rows of a fragment a model learns from."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from bonuslab.algorithms.data.fragment import Fragment


def visited_rows(fragment: Fragment) -> Tensor:
    """Rows of `Fragment.states()` of every s_{t+1} and every episode's first state; no visit is in two fragments."""
    starts = np.flatnonzero(fragment.first[:-1])
    return torch.from_numpy(np.concatenate([starts, fragment.next_state_index().ravel()]))


class RandomShare:
    """Keeps each row with probability `share`, and always one at least; draws anew every time."""

    def __init__(self, share: float, seed: int) -> None:
        self.share = share
        self._random = torch.Generator().manual_seed(seed)

    def of(self, rows: Tensor) -> Tensor:
        """The rows that are kept, in their order."""
        if self.share >= 1:
            return rows
        kept = torch.rand(len(rows), generator=self._random) < self.share
        return rows[kept] if kept.any() else rows[:1]

    def state_dict(self) -> dict[str, Tensor]:
        """The random numbers' state."""
        return {"random": self._random.get_state()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """The inverse of `state_dict`."""
        self._random.set_state(state["random"])

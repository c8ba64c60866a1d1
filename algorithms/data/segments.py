"""The stretches of a fragment that belong to one episode each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bonuslab.algorithms.data.fragment import Fragment


@dataclass(frozen=True)
class Segment:
    """Rows `start` to `stop` of one environment, all of one episode."""

    column: int
    """Which of the fragment's environments."""
    start: int
    stop: int
    last: bool
    """It reaches the end of the fragment and its episode goes on in the next one."""


def segments(fragment: Fragment) -> Iterator[Segment]:
    """Every environment's stretches in order of time; only the one that starts at row 0 can have begun before."""
    T, N = fragment.action.shape
    for column in range(N):
        starts = np.flatnonzero(fragment.first[1:T, column]) + 1
        borders = [0, *starts.tolist(), T]
        for start, stop in pairwise(borders):
            yield Segment(column, start, stop, last=stop == T and not fragment.first[T, column])

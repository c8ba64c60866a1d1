"""Split a fragment into segments of one episode each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bonuslab.algorithms.data.fragment import Fragment


@dataclass(frozen=True)
class Segment:
    """Rows `start` to `stop` of one env, all of the same episode."""

    column: int
    """Column of the env in the fragment."""
    start: int
    stop: int
    last: bool
    """Whether the episode continues in the next fragment."""


def segments(fragment: Fragment) -> Iterator[Segment]:
    """The segments of every env in order of time; only one that starts at row 0 can have begun earlier."""
    T, N = fragment.action.shape
    for column in range(N):
        starts = np.flatnonzero(fragment.first[1:T, column]) + 1
        borders = [0, *starts.tolist(), T]
        for start, stop in pairwise(borders):
            yield Segment(column, start, stop, last=stop == T and not fragment.first[T, column])

"""The experience of all replicas of a bonus in one common order, so that all count and remember the same."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bonuslab.algorithms.learning.collectives import Collectives


class Joint(NamedTuple):
    """Rows of all replicas, and where our own are among them."""

    rows: np.ndarray
    """[n of all replicas, ...]."""
    own: np.ndarray | slice
    """[n of this replica]."""


def join_in_time(collectives: Collectives, times: np.ndarray, rows: np.ndarray) -> Joint:
    """Rows [n, ...] of all replicas in order of `times` [n], then of rank.

    Each replica's own rows must already be in order of time. If env indices increase with rank, the order is that of a
    single replica with all the envs, and counts are exactly those of one table.
    """
    if collectives.size == 1:
        return Joint(rows, slice(None))
    gathered = collectives.gather((times, rows))
    order = np.argsort(np.concatenate([when for when, _ in gathered]), kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    start = sum(len(when) for when, _ in gathered[: collectives.rank])
    return Joint(np.concatenate([what for _, what in gathered])[order], place[start : start + len(times)])

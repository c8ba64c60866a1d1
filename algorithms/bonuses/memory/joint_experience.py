"""What the replicas of a bonus have seen, put in one order, so that all count and remember the same."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bonuslab.algorithms.learning.collectives import Alone


class Joint(NamedTuple):
    """Rows of all replicas, and the places of our own among them."""

    rows: np.ndarray
    """[n of all replicas, ...]."""
    own: np.ndarray | slice
    """[n of this replica]."""


def join_in_time(replicas: Alone, times: np.ndarray, rows: np.ndarray) -> Joint:
    """Rows [n, ...] of all replicas in the order of their `times` [n], at equal times in the order of replicas.

    Each replica's own rows must be in the order of time already. Replicas whose envs are numbered in the order of
    ranks get the order that one replica with all the envs would have: counts are then exactly those of one table.
    """
    if replicas.size == 1:
        return Joint(rows, slice(None))
    gathered = replicas.gather((times, rows))
    order = np.argsort(np.concatenate([when for when, _ in gathered]), kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    start = sum(len(when) for when, _ in gathered[: replicas.rank])
    return Joint(np.concatenate([what for _, what in gathered])[order], place[start : start + len(times)])

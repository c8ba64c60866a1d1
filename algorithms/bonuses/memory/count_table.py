"""Counts of 64-bit keys: an open-addressing hash table updated in order by numba.

A slot is a pair (key, count) of 64-bit words, 16 bytes on one cache line; a slot is free if its count is 0, so every
key is allowed, including 0 and 2⁶⁴ − 1. The table doubles when 5/8 full: ten million keys take 268 MB, and 403 MB
during the last doubling.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bonuslab.algorithms.bonuses.memory.hashing import mix
from bonuslab.envs.compiling import njit

Array = np.ndarray
SMALLEST = 64
_ONE = np.uint64(1)


@njit(cache=True, inline="always")
def slot_of(table: Array, key: np.uint64) -> np.uint64:
    """The slot of `key`, or the free slot where it belongs."""
    last = np.uint64(table.shape[0] - 1)
    slot = mix(key) & last
    while table[slot, 1] != 0 and table[slot, 0] != key:
        slot = (slot + _ONE) & last
    return slot


@njit(cache=True)
def _resized(table: Array, capacity: int) -> Array:
    larger = np.zeros((capacity, 2), np.uint64)
    for row in range(table.shape[0]):
        if table[row, 1] != 0:
            slot = slot_of(larger, table[row, 0])
            larger[slot, 0] = table[row, 0]
            larger[slot, 1] = table[row, 1]
    return larger


@njit(cache=True)
def count_in_order(table: Array, size: int, keys: Array, counts: Array) -> tuple[Array, int]:
    """Count each key; `counts` receives its count so far. Returns the table and its size."""
    for row in range(keys.shape[0]):
        slot = slot_of(table, keys[row])
        if table[slot, 1] == 0:
            table[slot, 0] = keys[row]
            size += 1
        table[slot, 1] += _ONE
        counts[row] = table[slot, 1]
        if 8 * size > 5 * table.shape[0]:
            table = _resized(table, 2 * table.shape[0])
    return table, size


@njit(cache=True)
def count_episodes(
    table: Array, size: int, current: Array, following: Array, first: Array, visits: Array
) -> tuple[Array, int]:
    """Count the states s_t [T] and s_{t+1} [T] of one env, clearing the table at episode starts.

    `visits` [T, 2] receives N_e(s_t) before and N_e(s_{t+1}) after s_{t+1} is counted. An empty table also counts the
    first row: it is the first known state of its episode.
    """
    for t in range(current.shape[0]):
        if first[t] or size == 0:
            table = np.zeros((SMALLEST, 2), np.uint64)
            table, size = count_in_order(table, 0, current[t : t + 1], visits[t, :1])
        else:
            visits[t, 0] = table[slot_of(table, current[t]), 1]
        table, size = count_in_order(table, size, following[t : t + 1], visits[t, 1:])
    return table, size


@njit(cache=True)
def count_rows(table: Array, size: int, keys: Array, first: Array) -> tuple[Array, int, Array]:
    """Count rows 0 … T [T + 1] of one env as released; returns the table, its size and the count of every row.

    The table is cleared after counting an episode's first row, so that state is not counted, and the step before it
    looks it up among the visits of the old episode. Row 0 was already counted as the last row of the fragment before.
    """
    counts = np.empty(keys.shape[0], np.uint64)
    for t in range(keys.shape[0]):
        table, size = count_in_order(table, size, keys[t : t + 1], counts[t : t + 1])
        if first[t]:
            table = np.zeros((SMALLEST, 2), np.uint64)
            size = 0
    return table, size, counts


class CountTable:
    """Counts of 64-bit keys."""

    def __init__(self) -> None:
        self.table = np.zeros((SMALLEST, 2), np.uint64)
        self.size = 0

    def __len__(self) -> int:
        return self.size

    def count(self, keys: Array) -> Array:
        """[n] uint64: the count of each key [n] so far, including itself and the keys before it."""
        counts = np.empty(len(keys), np.uint64)
        self.table, self.size = count_in_order(self.table, self.size, keys, counts)
        return counts

    def state_dict(self) -> dict[str, Any]:
        """Keys and counts without free slots, in no particular order."""
        used = self.table[:, 1] != 0
        return {"keys": self.table[used, 0], "counts": self.table[used, 1]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`."""
        keys, counts = state["keys"], state["counts"]
        capacity = SMALLEST
        while 8 * len(keys) > 5 * capacity:
            capacity *= 2
        self.table = _resized(np.stack([keys, counts], axis=1), capacity)
        self.size = len(keys)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> CountTable:
        """A table restored from `state_dict`."""
        made = cls()
        made.load_state_dict(state)
        return made

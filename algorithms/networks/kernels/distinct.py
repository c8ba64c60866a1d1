"""Find equal rows."""

from __future__ import annotations

import numpy as np

from bonuslab.envs.compiling import njit


@njit(cache=True, nogil=True)
def distinct(rows, multipliers, example, place):  # type: ignore[no-untyped-def]
    """Number U of distinct rows [B, k] of integers; fills `example` [:U], in order of appearance, and `place` [B].

    Rows are found by a hash and then compared.
    """
    size = 4
    while size < 2 * len(rows):
        size *= 2
    slots = np.full(size, -1, np.int64)
    count = 0
    for b in range(len(rows)):
        row = rows[b]
        key = np.int64(0)
        for j in range(len(row)):
            key += row[j] * multipliers[j]
        slot = (key ^ (key >> 32)) & (size - 1)
        while slots[slot] >= 0 and not is_equal(row, rows[example[slots[slot]]]):
            slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            slots[slot] = count
            example[count] = b
            count += 1
        place[b] = slots[slot]
    return count


@njit(inline="always")
def is_equal(one, other):  # type: ignore[no-untyped-def]
    for j in range(len(one)):  # noqa: SIM110 (numba compiles a plain loop, not `all`)
        if one[j] != other[j]:
            return False
    return True


@njit(cache=True, nogil=True)
def renumber(ids, size, place):  # type: ignore[no-untyped-def]
    """The ids below `size` that occur, in order of appearance; place[i] is where ids[i] is among them."""
    number = np.full(size, -1, np.int64)
    used = np.empty(size, np.int64)
    count = 0
    for i in range(len(ids)):
        if number[ids[i]] < 0:
            number[ids[i]] = count
            used[count] = ids[i]
            count += 1
        place[i] = number[ids[i]]
    return used[:count]

"""NetHack's observations as the `small` network reads them; its own methods are the specification."""

from __future__ import annotations

import numpy as np

from bonuslab.algorithms.networks.kernels.distinct import is_equal, renumber
from bonuslab.envs.compiling import njit


@njit(cache=True, nogil=True)
def crop_kinds(glyphs, blstats, kind, outside, out):  # type: ignore[no-untyped-def]
    """out [B, S, S]: kind[glyph] of the cells around the agent; `outside` beyond the map's edge."""
    (height, width), size = glyphs.shape[1:], out.shape[1]
    for b in range(len(glyphs)):
        top, left = blstats[b, 1] - size // 2, blstats[b, 0] - size // 2
        for y in range(size):
            for x in range(size):
                row, column = top + y, left + x
                inside = 0 <= row < height and 0 <= column < width
                out[b, y, x] = kind[glyphs[b, row, column]] if inside else outside


@njit(cache=True, nogil=True)
def distinct_windows(grids, multipliers, windows, place):  # type: ignore[no-untyped-def]
    """Number of distinct 3 × 3 windows at every second place of grids [B, S, S].

    Fills `windows` [:K, 9], in order of appearance, and `place` [B, P, P]. They are found by a hash, then compared.
    """
    B, P = place.shape[:2]
    size = 4
    while size < 2 * B * P * P:
        size *= 2
    slots = np.full(size, -1, np.int32)
    count = 0
    for b in range(B):
        for y in range(P):
            for x in range(P):
                key, window = np.int64(0), windows[count]
                for j in range(9):
                    window[j] = grids[b, 2 * y + j // 3, 2 * x + j % 3]
                    key += window[j] * multipliers[j]
                slot = (key ^ (key >> 32)) & (size - 1)
                while slots[slot] >= 0 and not is_equal(window, windows[slots[slot]]):
                    slot = (slot + 1) & (size - 1)
                if slots[slot] < 0:
                    slots[slot] = count
                    count += 1
                place[b, y, x] = slots[slot]
    return count


@njit(cache=True, nogil=True)
def scale_stats(blstats, column, scale, condition, out):  # type: ignore[no-untyped-def]
    """out [B, columns + bits]: the chosen stats, scaled, and the bits of the condition."""
    columns = len(column)
    for b in range(len(blstats)):
        for j in range(columns):
            out[b, j] = np.float32(min(max(blstats[b, column[j]], -1000), 1000)) * scale[j]
        for j in range(out.shape[1] - columns):
            out[b, columns + j] = (blstats[b, condition] >> j) & 1


@njit(cache=True, nogil=True)
def trigram_shares(messages, out):  # type: ignore[no-untyped-def]
    """Fill zeros `out` [B, buckets] with the share of a message's character trigrams in each bucket but the first."""
    for b in range(len(messages)):
        count = 0
        for i in range(messages.shape[1] - 2):
            if messages[b, i + 2] != 0:
                triple = (np.int64(messages[b, i]) * 131 + messages[b, i + 1]) * 131 + messages[b, i + 2]
                out[b, 1 + (triple * 2654435761 >> 12) % (out.shape[1] - 1)] += 1
                count += 1
        for j in range(out.shape[1]):
            out[b, j] /= max(count, 1)


@njit(cache=True, nogil=True)
def states_of_envs(columns, place, stats, crop, message, crops, patches, shares):  # type: ignore[no-untyped-def]
    """What `SmallStates.of_envs` keeps, in the same order."""
    T, N = len(place), len(columns)
    chosen = np.empty((T, N), np.int64)
    for t in range(T):
        for n in range(N):
            chosen[t, n] = place[t, columns[n]]
    shown = _renumber(chosen, len(stats))
    new_crop, new_message = crop[shown], message[shown]
    used_crops, used_messages = _renumber(new_crop, len(crops)), _renumber(new_message, len(shares))
    new_crops = crops[used_crops]
    used_patches = _renumber(new_crops, len(patches))
    return chosen, stats[shown], new_crop, new_message, new_crops, patches[used_patches], shares[used_messages]


@njit
def _renumber(ids, size):  # type: ignore[no-untyped-def]
    """The ids that occur; each becomes its place among them."""
    return renumber(ids.reshape(-1), size, ids.reshape(-1))

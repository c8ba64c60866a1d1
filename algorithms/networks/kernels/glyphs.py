"""A 3 × 3 convolution with stride 2 over a map of embedded glyphs."""

from __future__ import annotations

import numba
import numpy as np

_FAST = {"nsz", "contract", "reassoc"}  # NaN must come through


@numba.njit(cache=True, fastmath=_FAST, nogil=True)
def convolve(index, table, bias, out):  # type: ignore[no-untyped-def]
    """out [B, P, P, C] = ReLU(bias + Σ over 9 cells of table[index[cell], cell] [V, 9, C]); index [B, S, S]."""
    for b in range(len(index)):
        for y in range(out.shape[1]):
            for x in range(out.shape[2]):
                top, left, cells = 2 * y, 2 * x, index[b]
                # One expression, not a loop over cells: the compiler cannot keep an array of sums in registers.
                k0, k1, k2 = cells[top, left], cells[top, left + 1], cells[top, left + 2]
                k3, k4, k5 = cells[top + 1, left], cells[top + 1, left + 1], cells[top + 1, left + 2]
                k6, k7, k8 = cells[top + 2, left], cells[top + 2, left + 1], cells[top + 2, left + 2]
                for c in range(len(bias)):
                    total = (
                        (bias[c] + table[k0, 0, c] + table[k1, 1, c])
                        + (table[k2, 2, c] + table[k3, 3, c] + table[k4, 4, c])
                        + (table[k5, 5, c] + table[k6, 6, c])
                        + (table[k7, 7, c] + table[k8, 8, c])
                    )
                    out[b, y, x, c] = np.float32(0) if total < 0 else total


@numba.njit(cache=True, fastmath=_FAST, nogil=True)
def convolve_backward(index, out, d_out, d_table, d_bias):  # type: ignore[no-untyped-def]
    """Add to `d_table` [V, 9, C] and `d_bias` [C] what the gradient `d_out` [B, P, P, C] says."""
    C = len(d_bias)
    d_total = np.empty(C, np.float32)
    for b in range(len(index)):
        for y in range(out.shape[1]):
            for x in range(out.shape[2]):
                for c in range(C):
                    d_total[c] = d_out[b, y, x, c] if out[b, y, x, c] > 0 else np.float32(0)
                    d_bias[c] += d_total[c]
                for i in range(3):
                    for j in range(3):
                        kind = index[b, 2 * y + i, 2 * x + j]
                        for c in range(C):
                            d_table[kind, 3 * i + j, c] += d_total[c]


@numba.njit(cache=True, nogil=True)
def patches(rows, out):  # type: ignore[no-untyped-def]
    """out [B, Q, Q, 3, 3 C]: the 3 × 3 patches at every second place of rows [B, P, P, C]."""
    width = out.shape[4]
    for b in range(len(rows)):
        for y in range(out.shape[1]):
            for x in range(out.shape[2]):
                for i in range(3):
                    source = rows[b, 2 * y + i].reshape(-1)[2 * x * rows.shape[3] :]
                    for j in range(width):
                        out[b, y, x, i, j] = source[j]


@numba.njit(cache=True, nogil=True)
def patches_backward(d_out, d_rows):  # type: ignore[no-untyped-def]
    """Add the gradients of the patches [B, Q, Q, 3, 3 C] to those of the rows [B, P, P, C]."""
    width = d_out.shape[4]
    for b in range(len(d_rows)):
        for y in range(d_out.shape[1]):
            for x in range(d_out.shape[2]):
                for i in range(3):
                    target = d_rows[b, 2 * y + i].reshape(-1)[2 * x * d_rows.shape[3] :]
                    for j in range(width):
                        target[j] += d_out[b, y, x, i, j]

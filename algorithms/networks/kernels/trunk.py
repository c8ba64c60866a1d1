"""The `small` networks up to their LSTM, forward and backward, in float32; `small.py` states what they compute."""

from __future__ import annotations

import numpy as np

from bonuslab.algorithms.networks.kernels.gemm import (
    add_product,
    add_product_of_transposed,
    add_product_with_transposed,
)
from bonuslab.envs.compiling import njit

_FAST = {"nsz", "contract", "reassoc"}  # NaN must come through


@njit(cache=True, nogil=True)
def forward(  # type: ignore[no-untyped-def]
    gemm, glyphs, cells, patches, crop, message, stats, shares, w1, b1, w2, b2, w_stats, b_stats, words, w_out, b_out
):
    """Features [U, d], and what `backward` needs: the first convolution's output and the last layer's input."""
    seen = _convolve(gemm, glyphs, cells, w1, b1)  # [K, C]
    maps = _convolve(gemm, seen, patches, w2, b2)  # [crops · places, C]
    numbers = np.empty((len(stats), len(b_stats)), np.float32)
    add_product_with_transposed(gemm, stats, w_stats, 0.0, numbers)
    read = np.empty((len(shares), words.shape[1]), np.float32)
    add_product(gemm, shares, words, 0.0, read)
    joined = np.empty((len(crop), w_out.shape[1]), np.float32)
    _join(maps, crop, numbers, b_stats, read, message, joined)
    features = np.empty((len(crop), len(b_out)), np.float32)
    add_product_with_transposed(gemm, joined, w_out, 0.0, features)
    for u in range(len(features)):
        _rectify(features[u], b_out)
    return features, seen, joined


@njit(cache=True, nogil=True)
def backward(  # type: ignore[no-untyped-def]
    gemm, d_features, features, seen, joined, glyphs, cells, patches, crop, message, stats, shares, w1, w2, w_stats,
    words, w_out,
):  # fmt: skip
    """Gradients of glyphs, w1, b1, w2, b2, w_stats, b_stats, words, w_out and b_out."""
    d_features, d_b_out = _through_relu(d_features, features)
    d_w_out, d_joined = np.empty_like(w_out), np.empty_like(joined)
    add_product_of_transposed(gemm, d_features, joined, 0.0, d_w_out)
    add_product(gemm, d_features, w_out, 0.0, d_joined)

    d_maps = np.zeros((len(patches), w2.shape[1] // 9), np.float32)
    d_numbers = np.empty((len(crop), len(w_stats)), np.float32)
    d_read = np.zeros((len(shares), words.shape[1]), np.float32)
    d_b2, d_b_stats = _join_backward(d_joined, joined, crop, message, d_maps, d_numbers, d_read)
    d_w_stats, d_words = np.empty_like(w_stats), np.empty_like(words)
    add_product_of_transposed(gemm, d_numbers, stats, 0.0, d_w_stats)
    add_product_of_transposed(gemm, shares, d_read, 0.0, d_words)

    d_seen, d_w2 = _convolve_backward(gemm, d_maps, seen, patches, w2)
    d_seen, d_b1 = _through_relu(d_seen, seen)
    d_glyphs, d_w1 = _convolve_backward(gemm, d_seen, glyphs, cells, w1)
    return d_glyphs, d_w1, d_b1, d_w2, d_b2, d_w_stats, d_b_stats, d_words, d_w_out, d_b_out


@njit
def _convolve(gemm, rows, nine, weight, bias):  # type: ignore[no-untyped-def]
    """[B, C]: ReLU(bias + Σ_j rows[nine[b, j]] @ weight_j) for rows [R, d], nine [B, 9] and weight [d, 9 · C]."""
    table = np.empty((len(rows), weight.shape[1]), np.float32)
    add_product(gemm, rows, weight, 0.0, table)
    out = np.empty((len(nine), len(bias)), np.float32)
    _sum_of_nine(table.reshape(len(rows), 9, len(bias)), nine, bias, out)
    return out


@njit(fastmath=_FAST)
def _sum_of_nine(table, nine, bias, out):  # type: ignore[no-untyped-def]
    for b in range(len(nine)):
        # One expression, not a loop over j: the compiler cannot keep an array of sums in registers.
        k0, k1, k2, k3, k4, k5, k6, k7, k8 = nine[b]
        for c in range(len(bias)):
            total = (
                (bias[c] + table[k0, 0, c] + table[k1, 1, c])
                + (table[k2, 2, c] + table[k3, 3, c] + table[k4, 4, c])
                + (table[k5, 5, c] + table[k6, 6, c])
                + (table[k7, 7, c] + table[k8, 8, c])
            )
            out[b, c] = np.float32(0) if total < 0 else total


@njit(fastmath=_FAST)
def _add_to_nine(d_out, nine, d_table):  # type: ignore[no-untyped-def]
    for b in range(len(nine)):
        for j in range(9):
            k = nine[b, j]
            for c in range(d_out.shape[1]):
                d_table[k, j, c] += d_out[b, c]


@njit
def _convolve_backward(gemm, d_out, rows, nine, weight):  # type: ignore[no-untyped-def]
    """Gradients of the rows and the weight, given that of the sums before the ReLU."""
    d_table = np.zeros((len(rows), weight.shape[1]), np.float32)
    _add_to_nine(d_out, nine, d_table.reshape(len(rows), 9, d_out.shape[1]))
    d_rows, d_weight = np.empty_like(rows), np.empty_like(weight)
    add_product_with_transposed(gemm, d_table, weight, 0.0, d_rows)
    add_product_of_transposed(gemm, rows, d_table, 0.0, d_weight)
    return d_rows, d_weight


@njit(fastmath=_FAST)
def _join(maps, crop, numbers, b_stats, read, message, joined):  # type: ignore[no-untyped-def]
    """joined [U, C · places + stats + words]: maps channel by channel, rectified stats, and the message."""
    C, S, E = maps.shape[1], len(b_stats), read.shape[1]
    places = (joined.shape[1] - S - E) // C
    for u in range(len(crop)):
        row = joined[u]
        for place in range(places):
            k = crop[u] * places + place
            for c in range(C):
                row[c * places + place] = maps[k, c]
        row[C * places : C * places + S] = numbers[u]
        _rectify(row[C * places : C * places + S], b_stats)
        row[C * places + S :] = read[message[u]]


@njit(fastmath=_FAST)
def _join_backward(d_joined, joined, crop, message, d_maps, d_numbers, d_read):  # type: ignore[no-untyped-def]
    """Fill `d_numbers`, add to zeros `d_maps` and `d_read`; returns the gradients of both biases."""
    C, S, E = d_maps.shape[1], d_numbers.shape[1], d_read.shape[1]
    places = (joined.shape[1] - S - E) // C
    zero, d_b2, d_b_stats = np.float32(0), np.zeros(C, np.float32), np.zeros(S, np.float32)
    for u in range(len(crop)):
        row, d_row = joined[u], d_joined[u]
        for place in range(places):
            k = crop[u] * places + place
            for c in range(C):
                i = c * places + place
                d = d_row[i] if row[i] > 0 else zero
                d_maps[k, c] += d
                d_b2[c] += d
        for s in range(S):
            i = C * places + s
            d_numbers[u, s] = d_row[i] if row[i] > 0 else zero
        _add(d_b_stats, d_numbers[u])
        _add(d_read[message[u]], d_row[C * places + S :])
    return d_b2, d_b_stats


@njit(fastmath=_FAST)
def _rectify(row, bias):  # type: ignore[no-untyped-def]
    for i in range(len(row)):
        total = row[i] + bias[i]
        row[i] = np.float32(0) if total < 0 else total


@njit
def _through_relu(d_out, out):  # type: ignore[no-untyped-def]
    """The gradient before a ReLU [B, d], and its sum over rows."""
    d_in, d_bias = np.empty_like(d_out), np.zeros(d_out.shape[1], np.float32)
    for b in range(len(out)):
        _keep_where_positive(d_out[b], out[b], d_in[b])
        _add(d_bias, d_in[b])
    return d_in, d_bias


@njit(fastmath=_FAST)
def _keep_where_positive(d_out, out, d_in):  # type: ignore[no-untyped-def]
    for i in range(len(out)):
        d_in[i] = d_out[i] if out[i] > 0 else np.float32(0)


@njit(fastmath=_FAST)
def _add(target, source):  # type: ignore[no-untyped-def]
    for i in range(len(source)):
        target[i] += source[i]

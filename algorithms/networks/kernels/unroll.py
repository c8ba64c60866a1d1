"""All of a `small` network with an LSTM over T steps, forward and backward, in float32; acting is one step."""

from __future__ import annotations

import numpy as np

from bonuslab.algorithms.networks.kernels import recurrence, trunk
from bonuslab.algorithms.networks.kernels.gemm import (
    add_product,
    add_product_of_transposed,
    add_product_with_transposed,
)
from bonuslab.envs.compiling import njit


@njit(cache=True, nogil=True)
def forward(  # type: ignore[no-untyped-def]
    gemm, glyphs, cells, patches, crop, message, stats, shares, w1, b1, w2, b2, w_stats, b_stats, words, w_out, b_out,
    rows, keep, h, c, w_ih, bias, w_hh_t, w_heads, b_heads,
):  # fmt: skip
    """Outputs of the heads [T, N, A + values], the last c, features [U, d], all h, and what else `backward` needs."""
    features, seen, joined = trunk.forward(
        gemm, glyphs, cells, patches, crop, message, stats, shares, w1, b1, w2, b2, w_stats, b_stats, words, w_out,
        b_out,
    )  # fmt: skip
    projected = _affine(gemm, features, w_ih, bias)
    hs, c, gates, before_h, before_c, tanh_c = recurrence.forward(gemm, projected, rows, keep, h, c, w_hh_t)
    T, N, H = hs.shape
    heads = _affine(gemm, hs.reshape(T * N, H), w_heads, b_heads).reshape(T, N, len(b_heads))
    return heads, c, features, hs, seen, joined, gates, before_h, before_c, tanh_c


@njit(cache=True, nogil=True)
def backward(  # type: ignore[no-untyped-def]
    gemm, d_heads, features, hs, seen, joined, gates, before_h, before_c, tanh_c, glyphs, cells, patches, crop, message,
    stats, shares, rows, keep, w1, w2, w_stats, words, w_out, w_ih, w_hh, w_heads,
):  # fmt: skip
    """Gradients of w_ih, w_hh, the bias, w_heads and b_heads, and those of `trunk.backward`.

    `d_heads` [T, N, A + values] may have fewer steps than the unroll: later ones have no gradient.
    """
    T, N, H = len(d_heads), hs.shape[1], hs.shape[2]
    d_out = d_heads.reshape(T * N, d_heads.shape[2])
    d_w_heads, d_hs = np.empty_like(w_heads), np.empty((T * N, H), np.float32)
    add_product_of_transposed(gemm, d_out, hs[:T].reshape(T * N, H), 0.0, d_w_heads)
    add_product(gemm, d_out, w_heads, 0.0, d_hs)
    d_gates, d_projected, _, _ = recurrence.backward(
        gemm, len(features), d_hs.reshape(T, N, H), np.zeros((N, H), np.float32), keep[:T], w_hh, rows[:T], gates[:T],
        before_c[:T], tanh_c[:T],
    )  # fmt: skip
    d_w_ih, d_w_hh, d_features = np.empty_like(w_ih), np.empty_like(w_hh), np.empty_like(features)
    add_product_of_transposed(gemm, d_projected, features, 0.0, d_w_ih)
    add_product_of_transposed(gemm, d_gates.reshape(T * N, 4 * H), before_h[:T].reshape(T * N, H), 0.0, d_w_hh)
    add_product(gemm, d_projected, w_ih, 0.0, d_features)
    d_trunk = trunk.backward(
        gemm, d_features, features, seen, joined, glyphs, cells, patches, crop, message, stats, shares, w1, w2, w_stats,
        words, w_out,
    )  # fmt: skip
    return (d_w_ih, d_w_hh, d_projected.sum(0), d_w_heads, d_out.sum(0)), d_trunk


@njit
def _affine(gemm, rows, weight, bias):  # type: ignore[no-untyped-def]
    """[B, m]: rows [B, k] @ weight [m, k]ᵀ + bias."""
    out = np.empty((len(rows), len(bias)), np.float32)
    for b in range(len(out)):
        out[b] = bias
    add_product_with_transposed(gemm, rows, weight, 1.0, out)
    return out

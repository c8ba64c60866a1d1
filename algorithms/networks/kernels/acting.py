"""One step of a `small` network with an LSTM, in float32."""

from __future__ import annotations

import numpy as np

from bonuslab.algorithms.networks.kernels import recurrence, trunk
from bonuslab.algorithms.networks.kernels.gemm import add_product_with_transposed
from bonuslab.envs.compiling import njit


@njit(cache=True, nogil=True)
def act(  # type: ignore[no-untyped-def]
    gemm, glyphs, cells, patches, crop, message, stats, shares, w1, b1, w2, b2, w_stats, b_stats, words, w_out, b_out,
    rows, keep, h, c, w_ih, bias, w_hh_t, w_heads, b_heads,
):  # fmt: skip
    """Outputs of the heads [N, A + values], features [U, d], and h and c after the step [N, H]."""
    features, _, _ = trunk.forward(
        gemm,
        glyphs,
        cells,
        patches,
        crop,
        message,
        stats,
        shares,
        w1,
        b1,
        w2,
        b2,
        w_stats,
        b_stats,
        words,
        w_out,
        b_out,
    )
    projected = np.empty((len(features), len(bias)), np.float32)
    for u in range(len(projected)):
        projected[u] = bias
    add_product_with_transposed(gemm, features, w_ih, 1.0, projected)
    hs, c, _, _, _, _ = recurrence.forward(gemm, projected, rows, keep, h, c, w_hh_t)
    heads = np.empty((len(h), len(b_heads)), np.float32)
    for n in range(len(heads)):
        heads[n] = b_heads
    add_product_with_transposed(gemm, hs[0], w_heads, 1.0, heads)
    return heads, features, hs[0], c

"""The LSTM's loop over time, forward and backward, in float32; `lstm.py` states what it computes."""

from __future__ import annotations

import numba
import numpy as np

from bonuslab.algorithms.networks.kernels.gemm import add_product

# Sums may be reordered for vector instructions, but NaN and infinity must come through: they are looked for later.
# The error model "numpy" divides without a check for zero, which would also prevent vector instructions.
_FAST = {"nsz", "arcp", "contract", "reassoc"}


@numba.njit(inline="always", fastmath=_FAST)
def _tanh(x):  # type: ignore[no-untyped-def]
    """Eigen's rational approximation, a few units in the last place from tanh; unlike `np.tanh`, it is vectorised."""
    limit = np.float32(7.90531110763549805)
    x = limit if x > limit else x  # comparisons with NaN are false, so it stays
    x = -limit if x < -limit else x
    s = x * x
    p = np.float32(-2.76076847742355e-16)
    p = p * s + np.float32(2.00018790482477e-13)
    p = p * s + np.float32(-8.60467152213735e-11)
    p = p * s + np.float32(5.12229709037114e-08)
    p = p * s + np.float32(1.48572235717979e-05)
    p = p * s + np.float32(6.37261928875436e-04)
    p = p * s + np.float32(4.89352455891786e-03)
    q = np.float32(1.19825839466702e-06)
    q = q * s + np.float32(1.18534705686654e-04)
    q = q * s + np.float32(2.26843463243900e-03)
    q = q * s + np.float32(4.89352518554385e-03)
    return x * p / q


# Each loop has a function of its own: inside a larger one the compiler cannot tell the arrays apart.
@numba.njit(fastmath=_FAST, error_model="numpy")
def _apply_sigmoid(row):  # type: ignore[no-untyped-def]
    half = np.float32(0.5)
    for j in range(len(row)):
        row[j] = half * _tanh(half * row[j]) + half


@numba.njit(fastmath=_FAST, error_model="numpy")
def _apply_tanh(row, out):  # type: ignore[no-untyped-def]
    for j in range(len(row)):
        out[j] = _tanh(row[j])


@numba.njit(cache=True, fastmath=_FAST, error_model="numpy", nogil=True)
def forward(gemm, projected, rows, keep, h, c, w_hh_t, gates, before_h, before_c, cs, tanh_c, hs):  # type: ignore[no-untyped-def]
    """Fill `gates` [T, N, 4H] and the rest [T, N, H]; step (t, n) reads row rows[t, n] of `projected` [U, 4H].

    `w_hh_t` is [H, 4H]: BLAS multiplies by a transposed matrix a quarter slower.
    """
    T, N, H = hs.shape
    for t in range(T):
        for n in range(N):
            k, source = keep[t, n], projected[rows[t, n]]
            old_h, old_c = (h[n], c[n]) if t == 0 else (hs[t - 1, n], cs[t - 1, n])
            for j in range(H):
                before_h[t, n, j] = old_h[j] * k
                before_c[t, n, j] = old_c[j] * k
            for j in range(4 * H):
                gates[t, n, j] = source[j]
        add_product(gemm, before_h[t], w_hh_t, 1.0, gates[t])
        for n in range(N):
            row, old_c, new_c, new_h, th = gates[t, n], before_c[t, n], cs[t, n], hs[t, n], tanh_c[t, n]
            i, f, g, o = row[:H], row[H : 2 * H], row[2 * H : 3 * H], row[3 * H :]
            _apply_sigmoid(row[: 2 * H])
            _apply_tanh(g, g)
            _apply_sigmoid(o)
            for j in range(H):
                new_c[j] = f[j] * old_c[j] + i[j] * g[j]
            _apply_tanh(new_c, th)
            for j in range(H):
                new_h[j] = o[j] * th[j]


@numba.njit(cache=True, fastmath=_FAST, error_model="numpy", nogil=True)
def backward(gemm, d_hs, keep, w_hh, gates, before_c, tanh_c, d_gates, d_h, d_c):  # type: ignore[no-untyped-def]
    """Fill `d_gates` [T, N, 4H]; `d_h` and `d_c` [N, H] start as gradients of the last state, end as the first's."""
    T, N, H = d_hs.shape
    one = np.float32(1)
    for t in range(T - 1, -1, -1):
        for n in range(N):
            k = keep[t, n]
            gate, d_gate, th, old_c = gates[t, n], d_gates[t, n], tanh_c[t, n], before_c[t, n]
            for j in range(H):
                i, f, g, o = gate[j], gate[H + j], gate[2 * H + j], gate[3 * H + j]
                dh = d_h[n, j] + d_hs[t, n, j]
                dc = d_c[n, j] + dh * o * (one - th[j] * th[j])
                d_gate[j] = dc * g * i * (one - i)
                d_gate[H + j] = dc * old_c[j] * f * (one - f)
                d_gate[2 * H + j] = dc * i * (one - g * g)
                d_gate[3 * H + j] = dh * th[j] * o * (one - o)
                d_c[n, j] = dc * f * k
        add_product(gemm, d_gates[t], w_hh, 0.0, d_h)
        for n in range(N):
            k = keep[t, n]
            for j in range(H):
                d_h[n, j] *= k


@numba.njit(cache=True, nogil=True)
def add_rows(rows, values, out):  # type: ignore[no-untyped-def]
    """out[rows[i]] += values[i], in this order."""
    for i in range(len(rows)):
        target, source = out[rows[i]], values[i]
        for j in range(len(source)):
            target[j] += source[j]

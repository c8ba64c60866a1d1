"""The LSTM's loop over time, forward and backward, in float32; `lstm.py` states what it computes."""

from __future__ import annotations

import numpy as np

from bonuslab.algorithms.networks.kernels.gemm import add_product
from bonuslab.envs.compiling import njit

# NaN and infinity must come through: they are looked for later. Sums keep their order: with "reassoc", the process that
# compiles these loops had other last bits than those that read them from the cache. The error model "numpy" divides
# without a check for zero, which would prevent vector instructions.
_FAST = {"nsz", "arcp", "contract"}


@njit(inline="always", fastmath=_FAST)
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
@njit(fastmath=_FAST, error_model="numpy")
def _apply_sigmoid(row):  # type: ignore[no-untyped-def]
    half = np.float32(0.5)
    for j in range(len(row)):
        row[j] = half * _tanh(half * row[j]) + half


@njit(fastmath=_FAST, error_model="numpy")
def _apply_tanh(row, out):  # type: ignore[no-untyped-def]
    for j in range(len(row)):
        out[j] = _tanh(row[j])


@njit(fastmath=_FAST)
def _scale(row, factor, out):  # type: ignore[no-untyped-def]
    for j in range(len(row)):
        out[j] = row[j] * factor


@njit(fastmath=_FAST)
def _add(target, source):  # type: ignore[no-untyped-def]
    for j in range(len(source)):
        target[j] += source[j]


@njit(fastmath=_FAST)
def _step(i, f, g, o, c, th, h):  # type: ignore[no-untyped-def]
    """c = f c + i g and h = o tanh(c)."""
    for j in range(len(c)):
        c[j] = f[j] * c[j] + i[j] * g[j]
        th[j] = _tanh(c[j])
        h[j] = o[j] * th[j]


@njit(fastmath=_FAST)
def _step_backward(gate, d_gate, th, old_c, dh, dc, keep):  # type: ignore[no-untyped-def]
    """Fill the gates' gradients; `dc` becomes the gradient of the c before."""
    H, one = len(dc), np.float32(1)
    for j in range(H):
        i, f, g, o = gate[j], gate[H + j], gate[2 * H + j], gate[3 * H + j]
        d = dc[j] + dh[j] * o * (one - th[j] * th[j])
        d_gate[j] = d * g * i * (one - i)
        d_gate[H + j] = d * old_c[j] * f * (one - f)
        d_gate[2 * H + j] = d * i * (one - g * g)
        d_gate[3 * H + j] = dh[j] * th[j] * o * (one - o)
        dc[j] = d * f * keep


@njit(cache=True, error_model="numpy", nogil=True)
def forward(gemm, projected, rows, keep, h, c, w_hh_t):  # type: ignore[no-untyped-def]
    """All h [T, N, H], the last c, gates [T, N, 4H], and h, c before each step and tanh(c) after it [T, N, H].

    Step (t, n) reads row rows[t, n] of `projected` [U, 4H]. `w_hh_t` is [H, 4H]: BLAS multiplies by a transposed
    matrix a quarter slower.
    """
    (T, N), H = rows.shape, h.shape[1]
    gates = np.empty((T, N, 4 * H), np.float32)
    hs, before_h, before_c, tanh_c = [np.empty((T, N, H), np.float32) for _ in range(4)]
    c = c.copy()
    for t in range(T):
        for n in range(N):
            _scale(h[n] if t == 0 else hs[t - 1, n], keep[t, n], before_h[t, n])
            _scale(c[n], keep[t, n], before_c[t, n])
            gates[t, n] = projected[rows[t, n]]
        c[:] = before_c[t]
        add_product(gemm, before_h[t], w_hh_t, 1.0, gates[t])
        for n in range(N):
            row = gates[t, n]
            i, f, g, o = row[:H], row[H : 2 * H], row[2 * H : 3 * H], row[3 * H :]
            _apply_sigmoid(row[: 2 * H])
            _apply_tanh(g, g)
            _apply_sigmoid(o)
            _step(i, f, g, o, c[n], tanh_c[t, n], hs[t, n])
    return hs, c, gates, before_h, before_c, tanh_c


@njit(cache=True, error_model="numpy", nogil=True)
def backward(gemm, num_inputs, d_hs, d_last_c, keep, w_hh, rows, gates, before_c, tanh_c):  # type: ignore[no-untyped-def]
    """Gradients of the gates [T, N, 4H], of the projected inputs [U, 4H] and of the first h and c."""
    T, N, H = d_hs.shape
    d_gates, d_projected = np.empty_like(gates), np.zeros((num_inputs, 4 * H), np.float32)
    d_h, d_c = np.zeros((N, H), np.float32), d_last_c.copy()
    for t in range(T - 1, -1, -1):
        for n in range(N):
            _add(d_h[n], d_hs[t, n])
            _step_backward(gates[t, n], d_gates[t, n], tanh_c[t, n], before_c[t, n], d_h[n], d_c[n], keep[t, n])
            _add(d_projected[rows[t, n]], d_gates[t, n])
        add_product(gemm, d_gates[t], w_hh, 0.0, d_h)
        for n in range(N):
            _scale(d_h[n], keep[t, n], d_h[n])
    return d_gates, d_projected, d_h, d_c

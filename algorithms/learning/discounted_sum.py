"""The sum behind V-trace and GAE, backwards in time."""

from __future__ import annotations

import torch
from torch import Tensor

from bonuslab.envs.compiling import HAS_NUMBA, njit


def discounted_sum(delta: Tensor, weight: Tensor) -> Tensor:
    """[T, N]: Σ_t = δ_t + w_t Σ_{t+1}, with Σ_T = 0; without gradients."""
    total = torch.empty_like(delta)
    if HAS_NUMBA and delta.device.type == "cpu":
        _sum(delta.contiguous().numpy(), weight.contiguous().numpy(), total.numpy())
        return total
    after = torch.zeros_like(delta[0])
    for t in range(len(delta) - 1, -1, -1):
        after = total[t] = delta[t] + weight[t] * after
    return total


@njit(cache=True, nogil=True)
def _sum(delta, weight, total):  # type: ignore[no-untyped-def]
    T, N = delta.shape
    for n in range(N):
        total[T - 1, n] = delta[T - 1, n]
    for t in range(T - 2, -1, -1):
        for n in range(N):
            total[t, n] = delta[t, n] + weight[t, n] * total[t + 1, n]

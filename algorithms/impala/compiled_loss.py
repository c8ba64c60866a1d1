"""IMPALA's loss with its gradient written out, compiled on the CPU; `loss.py` is its definition.

PyTorch takes a hundred small steps for it and back, several times as long as their arithmetic.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from bonuslab.algorithms.impala.hyperparameters import IMPALAHyperparameters
from bonuslab.algorithms.impala.loss import impala_loss
from bonuslab.algorithms.networks.compiled import arrays


def compiled_loss(
    *, logits: Tensor, value: Tensor, next_value: Tensor, settings: IMPALAHyperparameters, **columns: Tensor
) -> Tensor:
    """The loss of `impala_loss`, with the same arguments, for tensors on the CPU."""
    loss = _Loss.apply(logits, value, next_value, columns, settings)
    if not math.isfinite(loss.detach()):
        impala_loss(logits=logits, value=value, next_value=next_value, settings=settings, **columns)  # names the reason
    return loss


class _Loss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, value: Tensor, next_value: Tensor, columns: dict[str, Tensor], settings: Any
    ) -> Tensor:
        names = ("behaviour_log_prob", "start_log_prob", "action", "reward", "terminated", "truncated")
        read = arrays(logits, value, next_value, *(columns[name] for name in names))
        clip = math.inf if settings.clip_param is None else settings.clip_param
        numbers = (settings.gamma, settings.lambda_, settings.vtrace_clip_rho_threshold,
                   settings.vtrace_clip_c_threshold, clip, settings.vf_loss_coeff, settings.entropy_coeff)  # fmt: skip
        given = (*read, *map(read[0].dtype.type, numbers), settings.normalise_advantages)
        loss, d_logits, d_value = _loss_and_gradients(*given)
        ctx.save_for_backward(torch.from_numpy(d_logits), torch.from_numpy(d_value))
        return logits.new_tensor(loss)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_loss: Tensor) -> tuple[Tensor | None, ...]:
        d_logits, d_value = ctx.saved_tensors
        return d_logits * d_loss, d_value * d_loss, None, None, None


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _loss_and_gradients(  # type: ignore[no-untyped-def]
    logits, value, next_value, behaviour, start, action, reward, terminated, truncated,
    gamma, lambda_, clip_rho, clip_c, clip, vf_loss_coeff, entropy_coeff, normalise,
):  # fmt: skip
    """The loss and its gradients with respect to logits [T, N, A] and value [T, N]; no clip if it is infinite."""
    T, N, A = logits.shape
    zero, one = np.float32(0), np.float32(1)
    log_policy, entropy = np.empty_like(logits), np.empty_like(value)
    for t in range(T):
        for n in range(N):
            entropy[t, n] = _log_softmax(logits[t, n], log_policy[t, n])

    excess, rho, advantages = np.empty_like(value), np.empty_like(value), np.empty_like(value)
    for t in range(T - 1, -1, -1):
        for n in range(N):
            ratio = np.exp(log_policy[t, n, action[t, n]] - behaviour[t, n])
            rho[t, n] = min(ratio, clip_rho)
            within = not (terminated[t, n] or truncated[t, n])
            later = excess[t + 1, n] if within and t + 1 < T else zero  # of the same episode
            discount = zero if terminated[t, n] else gamma
            delta = rho[t, n] * (reward[t, n] + discount * next_value[t, n] - value[t, n])
            excess[t, n] = delta + discount * lambda_ * min(ratio, clip_c) * later
            advantages[t, n] = reward[t, n] + discount * (next_value[t, n] + later) - value[t, n]
    if normalise:
        spread = np.sqrt(np.sum((advantages - advantages.mean()) ** 2) / np.float32(advantages.size - 1))
        advantages = (advantages - advantages.mean()) / (spread + np.float32(1e-8))

    loss, d_logits, d_value = 0.0, np.empty_like(logits), np.empty_like(value)
    for t in range(T):
        for n in range(N):
            log_prob, advantage = log_policy[t, n, action[t, n]], advantages[t, n]
            if np.isinf(clip):
                objective, slope = log_prob * rho[t, n] * advantage, rho[t, n] * advantage
            else:
                weight = min(np.exp(start[t, n] - behaviour[t, n]), clip_rho)
                ratio = np.exp(log_prob - start[t, n])
                clipped = min(max(ratio, one - clip), one + clip) * advantage
                inside = one - clip <= ratio <= one + clip or ratio * advantage < clipped
                objective = weight * min(ratio * advantage, clipped)
                slope = weight * ratio * advantage if inside else zero
            squared = np.float32(0.5) * excess[t, n] ** 2
            loss += -objective + vf_loss_coeff * squared - entropy_coeff * entropy[t, n]
            d_value[t, n] = -vf_loss_coeff * excess[t, n] / N
            for k in range(A):
                p = np.exp(log_policy[t, n, k])
                chosen = one if k == action[t, n] else zero
                d_entropy_loss = p * (log_policy[t, n, k] + entropy[t, n])
                d_logits[t, n, k] = (-slope * (chosen - p) + entropy_coeff * d_entropy_loss) / N
    return loss / N, d_logits, d_value


@numba.njit(inline="always")
def _log_softmax(logits, out):  # type: ignore[no-untyped-def]
    """Fill `out`; returns the entropy."""
    highest, total, entropy = np.max(logits), np.float32(0), np.float32(0)
    for k in range(len(logits)):
        total += np.exp(logits[k] - highest)
    log_total = highest + np.log(total)
    for k in range(len(logits)):
        out[k] = logits[k] - log_total
        entropy -= np.exp(out[k]) * out[k]
    return entropy

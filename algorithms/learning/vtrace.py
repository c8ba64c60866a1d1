"""V-trace targets (Espeholt et al., 2018), correct at terminations, truncations and fragment boundaries."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from bonuslab.algorithms.learning.discounted_sum import discounted_sum


@dataclass(frozen=True)
class VTrace:
    """Value targets and policy-gradient advantages."""

    targets: torch.Tensor
    """[T, N]: v_t, the target of V(s_t)."""
    advantages: torch.Tensor
    """[T, N]: r_t + γ_t v_{t+1} − V(s_t)."""
    rho: torch.Tensor
    """[T, N]: min(ρ̄, π/μ), the weight of each advantage in the policy gradient."""


@torch.no_grad()
def vtrace(
    *,
    log_ratio: torch.Tensor,
    reward: torch.Tensor,
    value: torch.Tensor,
    next_value: torch.Tensor,
    terminated: torch.Tensor,
    truncated: torch.Tensor,
    discount: float,
    trace_decay: float = 1.0,
    clip_rho: float = 1.0,
    clip_c: float = 1.0,
) -> VTrace:
    """Targets v_t = V(s_t) + Σ_{k≥t} γ^{k−t} (Π_{i=t}^{k−1} c_i) δ_k, the sum ending with the episode or the fragment.

    All arguments are [T, N]. δ_k = ρ_k (r_k + γ_k V(s_{k+1}) − V(s_k)), ρ_k = min(ρ̄, π/μ), c_k = λ min(c̄, π/μ),
    `log_ratio` = log π(a|s) − log μ(a|s). `next_value` is V of the true next state: truncated episodes are
    bootstrapped from their final state, terminated ones from zero. The product of the c_i never crosses an episode end.
    """
    ratio = log_ratio.exp()
    rho = ratio.clamp(max=clip_rho)  # [T, N]
    c = trace_decay * ratio.clamp(max=clip_c)
    gamma = discount * (~terminated).to(value.dtype)
    within = (~(terminated | truncated)).to(value.dtype)
    delta = rho * (reward + gamma * next_value - value)

    excess = discounted_sum(delta, gamma * c * within)  # v_t − V(s_t)
    targets = value + excess

    # v_{t+1}: next_value plus the later excess of the same episode.
    later = torch.cat([excess[1:], torch.zeros_like(excess[:1])]) * within
    advantages = reward + gamma * (next_value + later) - value
    return VTrace(targets, advantages, rho)

"""IMPALA's loss, and a clipped variant for several epochs over the same data."""

from __future__ import annotations

import math

import torch

from bonuslab.algorithms.data.finite import require_finite
from bonuslab.algorithms.impala.hyperparameters import IMPALAHyperparameters
from bonuslab.algorithms.learning.vtrace import vtrace


def impala_loss(
    *,
    logits: torch.Tensor,
    value: torch.Tensor,
    next_value: torch.Tensor,
    behaviour_log_prob: torch.Tensor,
    start_log_prob: torch.Tensor,
    action: torch.Tensor,
    reward: torch.Tensor,
    terminated: torch.Tensor,
    truncated: torch.Tensor,
    settings: IMPALAHyperparameters,
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Loss (sum over time, mean over envs) and its parts. `logits` are [T, N, A], all else [T, N].

    `start_log_prob` is that of π₀, the policy before the first epoch of this update; only the clipped objective
    (`clip_param`) uses them. It clips around π₀ and weights samples by min(ρ̄, π₀/μ). Clipped around the behaviour
    policy μ, data only one update old would already be at the clip and give little gradient.
    """
    log_policy = torch.log_softmax(logits, -1)  # [T, N, A]
    log_prob = log_policy.gather(-1, action.unsqueeze(-1)).squeeze(-1)
    log_ratio = log_prob - behaviour_log_prob
    trace = vtrace(
        log_ratio=log_ratio.detach(),
        reward=reward,
        value=value.detach(),
        next_value=next_value,
        terminated=terminated,
        truncated=truncated,
        discount=settings.gamma,
        trace_decay=settings.lambda_,
        clip_rho=settings.vtrace_clip_rho_threshold,
        clip_c=settings.vtrace_clip_c_threshold,
    )
    advantages = trace.advantages
    if settings.normalise_advantages:
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)

    if settings.clip_param is None:
        policy_loss = _over_time(-log_prob * trace.rho * advantages)
    else:
        weight = (start_log_prob - behaviour_log_prob).exp().clamp(max=settings.vtrace_clip_rho_threshold)
        ratio = (log_prob - start_log_prob).exp()
        clipped = ratio.clamp(1 - settings.clip_param, 1 + settings.clip_param)
        policy_loss = _over_time(-weight * torch.minimum(ratio * advantages, clipped * advantages))
    baseline_loss = _over_time(0.5 * (trace.targets - value) ** 2)
    entropy = -(log_policy.exp() * log_policy).sum(-1)  # [T, N]
    entropy_loss = _over_time(-entropy)

    parts = {"policy_loss": policy_loss, "baseline_loss": baseline_loss, "entropy_loss": entropy_loss}
    loss = policy_loss + settings.vf_loss_coeff * baseline_loss + settings.entropy_coeff * entropy_loss
    if not math.isfinite(loss.detach()):  # whatever is not finite makes the loss so; name the first that is not
        inputs = {"policy logits": logits, "value": value, "next value": next_value, "reward": reward}
        for name, quantity in (inputs | parts | {"loss": loss}).items():
            require_finite(name.replace("_", " "), quantity.detach())
    metrics = {
        **parts,
        "entropy": entropy.mean(),
        "advantage_mean": trace.advantages.mean(),
        "advantage_std": trace.advantages.std(),
        "value_mean": value.mean(),
        "importance_weight_mean": log_ratio.exp().mean(),
        "kl_to_behaviour": -log_ratio.mean(),
    }
    return loss, {name: part.detach() for name, part in metrics.items()}


def _over_time(loss: torch.Tensor) -> torch.Tensor:
    """Sum over time, mean over envs: [T, N] → []."""
    return loss.sum(0).mean()

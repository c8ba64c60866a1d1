"""PPO's clipped objective (Schulman et al., 2017), and advantages from one or two value heads."""

from __future__ import annotations

import torch
from torch import Tensor

from bonuslab.algorithms.data.finite import require_finite
from bonuslab.algorithms.ddppo.hyperparameters import DDPPOHyperparameters
from bonuslab.algorithms.learning.gae import gae


def one_head(
    *,
    reward: Tensor,
    value: Tensor,
    next_value: Tensor,
    terminated: Tensor,
    done: Tensor,
    settings: DDPPOHyperparameters,
) -> tuple[Tensor, Tensor]:
    """Advantages and value targets, [T, N] each, for the sum of both rewards."""
    advantage = gae(
        reward=reward,
        value=value,
        next_value=next_value,
        terminated=terminated,
        done=done,
        discount=settings.gamma,
        decay=settings.lambda_,
    )
    return advantage, advantage + value


def two_heads(
    *,
    extrinsic: Tensor,
    intrinsic: Tensor,
    value: Tensor,
    next_value: Tensor,
    following_value: Tensor,
    terminated: Tensor,
    done: Tensor,
    settings: DDPPOHyperparameters,
) -> tuple[Tensor, Tensor]:
    """Advantages [T, N] = w_e A_e + w_i A_i, and the targets of both heads [T, N, 2].

    Values are [T, N, 2]: extrinsic, intrinsic. `next_value` is V of the true next state, `following_value` V of the
    next row, which after an episode's end is the first state of the next episode.
    """
    first = gae(
        reward=extrinsic,
        value=value[..., 0],
        next_value=next_value[..., 0],
        terminated=terminated,
        done=done,
        discount=settings.gamma,
        decay=settings.lambda_,
    )
    ends = settings.intrinsic_episodic
    second = gae(
        reward=intrinsic,
        value=value[..., 1],
        next_value=(next_value if ends else following_value)[..., 1],
        terminated=terminated if ends else torch.zeros_like(terminated),
        done=done if ends else torch.zeros_like(done),
        discount=settings.intrinsic_gamma,
        decay=settings.lambda_,
    )
    advantage = settings.extrinsic_advantage_coeff * first + settings.intrinsic_advantage_coeff * second
    return advantage, torch.stack([first, second], -1) + value


def ppo_loss(
    *,
    logits: Tensor,
    value: Tensor,
    behaviour_logits: Tensor,
    behaviour_value: Tensor,
    action: Tensor,
    advantage: Tensor,
    target: Tensor,
    settings: DDPPOHyperparameters,
) -> tuple[Tensor, dict[str, Tensor]]:
    """Loss (mean over all steps) and its parts. Logits are [T, N, A]; values and targets [T, N] or [T, N, heads]."""
    require_finite("policy logits", logits.detach())
    require_finite("value", value.detach())
    require_finite("advantage", advantage)
    log_policy = torch.log_softmax(logits, -1)
    log_prob = _of_action(log_policy, action)
    log_ratio = log_prob - _of_action(torch.log_softmax(behaviour_logits, -1), action)
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - settings.clip_param, 1 + settings.clip_param)
    policy_loss = -torch.minimum(ratio * advantage, clipped * advantage).mean()
    baseline_loss = _value_loss(value, behaviour_value, target, settings.vf_clip_param)
    entropy = -(log_policy.exp() * log_policy).sum(-1).mean()
    parts = {"policy_loss": policy_loss, "baseline_loss": baseline_loss, "entropy_loss": -entropy}
    for name, part in parts.items():
        require_finite(name.replace("_", " "), part.detach())
    loss = policy_loss + settings.vf_loss_coeff * baseline_loss - settings.entropy_coeff * entropy
    metrics = {
        **parts,
        "entropy": entropy,
        "advantage_mean": advantage.mean(),
        "advantage_std": advantage.std(),
        "value_mean": value.mean(),
        "importance_weight_mean": ratio.mean(),
        "kl_to_behaviour": -log_ratio.mean(),
        "clipped_share": ((ratio - 1).abs() > settings.clip_param).float().mean(),
    }
    return loss, {name: part.detach() for name, part in metrics.items()}


def _value_loss(value: Tensor, before: Tensor, target: Tensor, limit: float | None) -> Tensor:
    """½ (target − V)², averaged over steps and summed over heads."""
    square = (target - value).square()
    if limit is not None:
        near = before + (value - before).clamp(-limit, limit)
        square = torch.maximum(square, (target - near).square())
    return 0.5 * square.mean((0, 1)).sum()


def _of_action(log_policy: Tensor, action: Tensor) -> Tensor:
    return log_policy.gather(-1, action.unsqueeze(-1)).squeeze(-1)

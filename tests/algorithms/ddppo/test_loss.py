"""PPO's loss against its definition."""

from __future__ import annotations

import math

import pytest
import torch

from bonuslab.algorithms.data.finite import NonFinite
from bonuslab.algorithms.ddppo.hyperparameters import DDPPOHyperparameters
from bonuslab.algorithms.ddppo.loss import ppo_loss

T, N, A = 7, 3, 5


def batch(seed: int, heads: int) -> dict[str, torch.Tensor]:
    random = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, dtype=torch.float64, generator=random)

    values = (T, N) if heads == 1 else (T, N, heads)
    behaviour = normal(T, N, A)
    return {
        "logits": behaviour + 0.5 * normal(T, N, A),
        "value": normal(*values),
        "behaviour_logits": behaviour,
        "behaviour_value": normal(*values),
        "action": torch.randint(A, (T, N), generator=random),
        "advantage": normal(T, N),
        "target": normal(*values),
    }


def literal(given: dict[str, torch.Tensor], settings: DDPPOHyperparameters) -> float:
    """Means over steps of the three terms, in plain Python."""
    policy = baseline = entropy = 0.0
    heads = given["value"].reshape(T, N, -1).shape[-1]
    for t in range(T):
        for n in range(N):
            new = torch.softmax(given["logits"][t, n], 0).tolist()
            old = torch.softmax(given["behaviour_logits"][t, n], 0).tolist()
            action, advantage = int(given["action"][t, n]), float(given["advantage"][t, n])
            ratio = new[action] / old[action]
            clipped = min(max(ratio, 1 - settings.clip_param), 1 + settings.clip_param)
            policy -= min(ratio * advantage, clipped * advantage)
            entropy -= sum(p * math.log(p) for p in new)
            for head in range(heads):
                value, before, target = (
                    float(given[name].reshape(T, N, -1)[t, n, head]) for name in ("value", "behaviour_value", "target")
                )
                error = (target - value) ** 2
                if settings.vf_clip_param is not None:
                    moved = min(max(value - before, -settings.vf_clip_param), settings.vf_clip_param)
                    error = max(error, (target - before - moved) ** 2)
                baseline += 0.5 * error
    return (policy + settings.vf_loss_coeff * baseline - settings.entropy_coeff * entropy) / (T * N)


@pytest.mark.parametrize("value_clip", [None, 0.3])
@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("seed", [0, 1])
def test_equals_the_definition(seed: int, heads: int, value_clip: float | None) -> None:
    settings = DDPPOHyperparameters(clip_param=0.2, vf_clip_param=value_clip, entropy_coeff=0.01, vf_loss_coeff=0.7)
    given = batch(seed, heads)
    loss, parts = ppo_loss(**given, settings=settings)
    assert float(loss) == pytest.approx(literal(given, settings), rel=1e-12)
    assert 0 < float(parts["clipped_share"]) < 1
    assert float(parts["entropy"]) == pytest.approx(-float(parts["entropy_loss"]))


def test_steps_beyond_the_clip_have_no_gradient() -> None:
    """If the policy has moved past the clip in the direction of the advantage, the gradient is zero."""
    given = batch(0, 1)
    given["logits"].requires_grad_()
    loss, _ = ppo_loss(**given, settings=DDPPOHyperparameters(vf_clip_param=None, entropy_coeff=0.0, vf_loss_coeff=0.0))
    loss.backward()
    chosen = given["action"].unsqueeze(-1)
    new, old = (torch.softmax(given[name].detach(), -1).gather(-1, chosen) for name in ("logits", "behaviour_logits"))
    ratio = (new / old).squeeze(-1)
    beyond = ((ratio > 1.2) & (given["advantage"] > 0)) | ((ratio < 0.8) & (given["advantage"] < 0))
    moved = given["logits"].grad.abs().sum(-1) > 0
    assert beyond.any()
    assert torch.equal(moved, ~beyond)


@pytest.mark.parametrize("name", ["logits", "value", "advantage"])
def test_a_non_finite_input_is_named(name: str) -> None:
    given = batch(0, 1)
    given[name][0, 0] = torch.nan
    with pytest.raises(NonFinite, match=name):
        ppo_loss(**given, settings=DDPPOHyperparameters(vf_clip_param=None, entropy_coeff=0.0))

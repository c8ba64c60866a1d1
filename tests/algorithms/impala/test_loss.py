"""IMPALA's loss against loops in the paper's notation."""

from __future__ import annotations

from math import exp, log

import pytest
import torch

from bonuslab.algorithms.data.finite import NonFinite
from bonuslab.algorithms.impala.compiled_loss import compiled_loss
from bonuslab.algorithms.impala.hyperparameters import IMPALAHyperparameters
from bonuslab.algorithms.impala.loss import impala_loss

T, N, A = 7, 3, 4
SETTINGS = {
    "gamma": 0.9,
    "entropy_coeff": 0.02,
    "vf_loss_coeff": 0.5,
    "vtrace_clip_rho_threshold": 1.0,
    "vtrace_clip_c_threshold": 0.8,
    "lambda_": 1.0,
    "clip_param": None,
    "normalise_advantages": False,
}


def batch(seed: int = 0) -> dict[str, torch.Tensor]:
    random = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=random, dtype=torch.float64)

    ended = torch.rand(T, N, generator=random) < 0.3
    terminated = ended & (torch.rand(T, N, generator=random) < 0.5)
    return {
        "logits": normal(T, N, A),
        "value": normal(T, N),
        "next_value": normal(T, N),
        "behaviour_logits": normal(T, N, A),
        "start_logits": normal(T, N, A),
        "action": torch.randint(A, (T, N), generator=random),
        "reward": normal(T, N),
        "terminated": terminated,
        "truncated": ended & ~terminated,
    }


def probabilities(logits: torch.Tensor) -> list[float]:
    weights = [exp(x) for x in logits.tolist()]
    return [weight / sum(weights) for weight in weights]


class Env:
    """One env of the batch: π, μ, V and the sums of the definition."""

    def __init__(self, data: dict[str, torch.Tensor], n: int, settings: dict) -> None:
        self.V = data["value"][:, n].tolist()
        self.V_next = data["next_value"][:, n].tolist()
        self.r = data["reward"][:, n].tolist()
        self.terminated = data["terminated"][:, n].tolist()
        self.ends = (data["terminated"] | data["truncated"])[:, n].tolist()
        self.a = data["action"][:, n].tolist()
        self.π = [probabilities(data["logits"][t, n]) for t in range(T)]
        μ = [probabilities(data["behaviour_logits"][t, n]) for t in range(T)]
        π0 = [probabilities(data["start_logits"][t, n]) for t in range(T)]
        self.ratio = [self.π[t][self.a[t]] / μ[t][self.a[t]] for t in range(T)]
        self.ratio0 = [self.π[t][self.a[t]] / π0[t][self.a[t]] for t in range(T)]
        self.weight = [min(settings["vtrace_clip_rho_threshold"], π0[t][self.a[t]] / μ[t][self.a[t]]) for t in range(T)]
        self.ρ = [min(settings["vtrace_clip_rho_threshold"], ratio) for ratio in self.ratio]
        self.c = [settings["lambda_"] * min(settings["vtrace_clip_c_threshold"], ratio) for ratio in self.ratio]
        self.γ = settings["gamma"]

    def bootstrap(self, t: int) -> float:
        return 0.0 if self.terminated[t] else self.V_next[t]

    def v(self, s: int) -> float:
        """v_s = V(x_s) + Σ_t γ^{t−s} (Π c_i) δ_t V."""
        total, weight = self.V[s], 1.0
        for t in range(s, T):
            total += weight * self.ρ[t] * (self.r[t] + self.γ * self.bootstrap(t) - self.V[t])
            if self.ends[t]:
                break
            weight *= self.γ * self.c[t]
        return total

    def advantage(self, t: int) -> float:
        """r_t + γ v_{t+1} − V(x_t)."""
        continues = not self.ends[t] and t + 1 < T
        # V of the next state as the batch gives it, plus what V-trace adds to it later in the episode.
        following = self.bootstrap(t) + (self.v(t + 1) - self.V[t + 1] if continues else 0.0)
        return self.r[t] + self.γ * following - self.V[t]


def literal(data: dict[str, torch.Tensor], settings: dict) -> dict[str, float]:
    envs = [Env(data, n, settings) for n in range(N)]
    sums = {"policy_loss": 0.0, "baseline_loss": 0.0, "entropy_loss": 0.0}
    ε = settings["clip_param"]
    for env in envs:
        for t in range(T):
            Â = env.advantage(t)
            if ε is None:
                sums["policy_loss"] -= env.ρ[t] * log(env.π[t][env.a[t]]) * Â
            else:
                clipped = max(1 - ε, min(1 + ε, env.ratio0[t]))
                sums["policy_loss"] -= env.weight[t] * min(env.ratio0[t] * Â, clipped * Â)
            sums["baseline_loss"] += 0.5 * (env.v(t) - env.V[t]) ** 2
            sums["entropy_loss"] += sum(p * log(p) for p in env.π[t])
    return {name: value / N for name, value in sums.items()}


def arguments(data):
    """The loss takes log-probabilities of the actions instead of the logits of μ and π₀."""
    given = dict(data)
    for name in ("behaviour", "start"):
        log_policy = torch.log_softmax(given.pop(f"{name}_logits"), -1)
        given[f"{name}_log_prob"] = log_policy.gather(-1, data["action"].unsqueeze(-1)).squeeze(-1)
    return given


@pytest.mark.parametrize("changes", [{}, {"clip_param": 0.2, "lambda_": 0.95}, {"vtrace_clip_rho_threshold": 2.0}])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_parts_and_sum(changes, seed):
    settings = SETTINGS | changes
    data = batch(seed)
    loss, metrics = impala_loss(**arguments(data), settings=IMPALAHyperparameters(**settings))
    expected = literal(data, settings)
    for name, value in expected.items():
        assert metrics[name].item() == pytest.approx(value, rel=1e-9), name
    whole = expected["policy_loss"] + 0.5 * expected["baseline_loss"] + 0.02 * expected["entropy_loss"]
    assert loss.item() == pytest.approx(whole, rel=1e-9)


@pytest.mark.parametrize("changes", [{}, {"clip_param": 0.2}])
def test_gradients_treat_targets_and_advantages_as_constants(changes):
    settings = SETTINGS | changes
    data = batch(3)
    envs = [Env(data, n, settings) for n in range(N)]
    data["logits"].requires_grad_()
    data["value"].requires_grad_()
    impala_loss(**arguments(data), settings=IMPALAHyperparameters(**settings))[0].backward()
    ε = settings["clip_param"]

    for n, env in enumerate(envs):
        for t in range(T):
            Â, π, ratio = env.advantage(t), env.π[t], env.ratio0[t]
            by_value = settings["vf_loss_coeff"] * (env.V[t] - env.v(t)) / N
            assert data["value"].grad[t, n].item() == pytest.approx(by_value, rel=1e-9, abs=1e-12)
            H = -sum(p * log(p) for p in π)
            for b in range(A):
                score = (env.a[t] == b) - π[b]  # ∂ log π(a_t) / ∂ logit_b
                if ε is None:
                    weight = env.ρ[t]
                else:
                    weight = env.weight[t] * ratio if (ratio <= 1 + ε if Â > 0 else ratio >= 1 - ε) else 0.0
                by_logit = -weight * Â * score + settings["entropy_coeff"] * π[b] * (log(π[b]) + H)
                assert data["logits"].grad[t, n, b].item() == pytest.approx(by_logit / N, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-11)])
@pytest.mark.parametrize("changes", [{}, {"clip_param": 0.2}, {"clip_param": 0.2, "normalise_advantages": True}])
def test_the_compiled_loss_is_the_same(changes, dtype, tolerance):
    settings = IMPALAHyperparameters(**SETTINGS | {"lambda_": 0.95} | changes)
    data = {key: rows.to(dtype) if rows.is_floating_point() else rows for key, rows in batch(5).items()}
    given = [data[key].requires_grad_() for key in ("logits", "value")]
    results = []
    for loss in (
        impala_loss(**arguments(data), settings=settings)[0],
        compiled_loss(**arguments(data), settings=settings),
    ):
        results.append([loss.detach(), *torch.autograd.grad(3 * loss, given)])
    for plain, compiled in zip(*results, strict=True):
        torch.testing.assert_close(compiled, plain, rtol=tolerance, atol=tolerance)


def test_normalised_advantages_do_not_depend_on_the_reward_scale():
    data = batch(4) | {"value": torch.zeros(T, N, dtype=torch.float64)}
    data["next_value"] = torch.zeros_like(data["value"])
    settings = IMPALAHyperparameters(**SETTINGS | {"normalise_advantages": True})
    small = impala_loss(**arguments(data), settings=settings)[1]["policy_loss"]
    large = impala_loss(**arguments(data | {"reward": 1000 * data["reward"]}), settings=settings)[1]["policy_loss"]
    assert large.item() == pytest.approx(small.item(), rel=1e-6)


@pytest.mark.parametrize(
    ("column", "name"), [("logits", "policy logits"), ("value", "value"), ("reward", "reward"), ("next_value", "next")]
)
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
@pytest.mark.parametrize("loss", [impala_loss, compiled_loss])
def test_a_non_finite_input_is_named(column, name, bad, loss):
    data = batch()
    data[column][2, 1] = bad
    data["terminated"][2, 1] = False
    with pytest.raises(NonFinite, match=f"{name}.* is not finite"):
        loss(**arguments(data), settings=IMPALAHyperparameters(**SETTINGS))

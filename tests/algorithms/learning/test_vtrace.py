"""V-trace against the sum of the definition, step by step and episode by episode."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bonuslab.algorithms.learning.vtrace import vtrace

GAMMA, CLIP_RHO, CLIP_C = 0.9, 1.0, 1.0


def literal(ratio, reward, value, next_value, terminated, truncated, trace_decay):
    """v_t and the policy gradient's advantage of one env, from the sum and product of the definition."""
    T = len(reward)
    ends = terminated | truncated
    rho, c = np.minimum(CLIP_RHO, ratio), trace_decay * np.minimum(CLIP_C, ratio)
    gamma = np.where(terminated, 0.0, GAMMA)
    delta = rho * (reward + gamma * next_value - value)
    targets = np.empty(T)
    for t in range(T):
        total = value[t]
        for k in range(t, T):
            if ends[t:k].any():
                break
            total += np.prod(gamma[t:k]) * np.prod(c[t:k]) * delta[k]
        targets[t] = total
    advantages = np.empty(T)
    for t in range(T):
        after = next_value[t] if ends[t] or t == T - 1 else targets[t + 1]
        advantages[t] = rho[t] * (reward[t] + gamma[t] * after - value[t])
    return targets, advantages


def random_steps(seed: int, on_policy: bool, T: int = 17, N: int = 5):
    rng = np.random.default_rng(seed)
    ends = rng.random((T, N)) < 0.2
    terminated = ends & (rng.random((T, N)) < 0.5)
    truncated = ends & ~terminated
    value = rng.normal(size=(T, N))
    next_value = np.concatenate([value[1:], rng.normal(size=(1, N))])
    next_value = np.where(ends, rng.normal(size=(T, N)), next_value)  # the true last state's value
    ratio = np.ones((T, N)) if on_policy else np.exp(rng.normal(size=(T, N)))
    return ratio, rng.normal(size=(T, N)), value, next_value, terminated, truncated


@pytest.mark.parametrize("on_policy", [True, False])
@pytest.mark.parametrize("trace_decay", [1.0, 0.95])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_equals_the_definition(seed: int, on_policy: bool, trace_decay: float) -> None:
    ratio, reward, value, next_value, terminated, truncated = random_steps(seed, on_policy)
    got = vtrace(
        log_ratio=torch.from_numpy(np.log(ratio)),
        reward=torch.from_numpy(reward),
        value=torch.from_numpy(value),
        next_value=torch.from_numpy(next_value),
        terminated=torch.from_numpy(terminated),
        truncated=torch.from_numpy(truncated),
        discount=GAMMA,
        trace_decay=trace_decay,
    )
    for n in range(reward.shape[1]):
        columns = (part[:, n] for part in (ratio, reward, value, next_value, terminated, truncated))
        targets, advantages = literal(*columns, trace_decay)
        np.testing.assert_allclose(got.targets[:, n].numpy(), targets, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose((got.rho * got.advantages)[:, n].numpy(), advantages, rtol=1e-12, atol=1e-12)


def test_on_policy_target_is_the_discounted_return() -> None:
    # One terminated episode: with π = μ every c and ρ is 1, and v_t is the return for any V.
    reward = torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.float64)
    flags = torch.tensor([[False], [False], [True]])
    value = torch.tensor([[5.0], [-7.0], [9.0]], dtype=torch.float64)
    result = vtrace(
        log_ratio=torch.zeros_like(reward),
        reward=reward,
        value=value,
        next_value=torch.tensor([[-7.0], [9.0], [100.0]], dtype=torch.float64),
        terminated=flags,
        truncated=torch.zeros_like(flags),
        discount=0.5,
    )
    assert result.targets.flatten().tolist() == [1 + 0.5 * 2 + 0.25 * 3, 2 + 0.5 * 3, 3.0]


def test_a_fragment_boundary_within_an_episode_bootstraps() -> None:
    # Two halves that bootstrap from the targets of the whole give the targets of the whole.
    _, reward, value, next_value, terminated, truncated = random_steps(3, on_policy=True, T=20, N=1)
    terminated[:], truncated[:] = False, False
    next_value = np.concatenate([value[1:], next_value[-1:]])

    def targets(rows: slice, bootstrap: np.ndarray) -> np.ndarray:
        following = np.concatenate([value[rows][1:], bootstrap])
        result = vtrace(
            log_ratio=torch.zeros(reward[rows].shape, dtype=torch.float64),
            reward=torch.from_numpy(reward[rows]),
            value=torch.from_numpy(value[rows]),
            next_value=torch.from_numpy(following),
            terminated=torch.from_numpy(terminated[rows]),
            truncated=torch.from_numpy(truncated[rows]),
            discount=GAMMA,
        )
        return result.targets.numpy()

    whole = targets(slice(0, 20), next_value[-1:])
    second = targets(slice(10, 20), next_value[-1:])
    first = targets(slice(0, 10), second[:1])
    np.testing.assert_allclose(np.concatenate([first, second]), whole, rtol=1e-12)

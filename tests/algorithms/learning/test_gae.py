"""Advantages against the sum of the definition, env by env, for one and two value heads."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bonuslab.algorithms.ddppo.hyperparameters import DDPPOHyperparameters
from bonuslab.algorithms.ddppo.loss import one_head, two_heads
from bonuslab.algorithms.learning.gae import gae

T, N = 19, 4


def literal(reward, value, next_value, terminated, done, discount, decay):
    """A_t = Σ_k (γλ)^k δ_{t+k}, until the episode or the fragment ends, for one env."""
    advantage = np.zeros(len(reward))
    for t in range(len(reward)):
        for k in range(t, len(reward)):
            after = 0.0 if terminated[k] else next_value[k]
            delta = reward[k] + discount * after - value[k]
            advantage[t] += (discount * decay) ** (k - t) * delta
            if done[k]:
                break
    return advantage


@pytest.fixture(params=[0, 1, 2])
def envs(request):
    rng = np.random.default_rng(request.param)
    done = rng.random((T, N)) < 0.2
    rows = rng.normal(size=(T + 1, N, 2))
    next_value = np.where(done[..., None], rng.normal(size=(T, N, 2)), rows[1:])
    return {
        "extrinsic": rng.normal(size=(T, N)),
        "intrinsic": rng.random((T, N)),
        "value": rows[:-1],
        "next_value": next_value,
        "following_value": rows[1:],
        "terminated": done & (rng.random((T, N)) < 0.5),
        "done": done,
    }


def settings(**changes) -> DDPPOHyperparameters:
    values = {"gamma": 0.9, "lambda_": 0.8, "intrinsic_gamma": 0.7, "intrinsic_episodic": False}
    values |= {"extrinsic_advantage_coeff": 2.0, "intrinsic_advantage_coeff": 1.0}
    return DDPPOHyperparameters(**{**values, **changes})


def tensors(envs, *names):
    return {name: torch.from_numpy(envs[name]) for name in names}


@pytest.mark.parametrize("decay", [0.0, 0.95, 1.0])
def test_equals_the_definition(envs, decay):
    ends = tensors(envs, "terminated", "done")
    first = {name: envs[name][..., 0] for name in ("value", "next_value")}
    got = gae(
        reward=torch.from_numpy(envs["extrinsic"]),
        **{name: torch.from_numpy(values) for name, values in first.items()},
        **ends,
        discount=0.9,
        decay=decay,
    )
    for n in range(N):
        columns = [envs["extrinsic"], first["value"], first["next_value"], envs["terminated"], envs["done"]]
        expected = literal(*(column[:, n] for column in columns), 0.9, decay)
        np.testing.assert_allclose(got[:, n].numpy(), expected, rtol=1e-12, atol=1e-12)


def test_targets_of_one_head_are_advantages_plus_values(envs):
    value = torch.from_numpy(envs["value"][..., 0])
    advantage, target = one_head(
        reward=torch.from_numpy(envs["extrinsic"]),
        value=value,
        next_value=torch.from_numpy(envs["next_value"][..., 0]),
        **tensors(envs, "terminated", "done"),
        settings=settings(),
    )
    torch.testing.assert_close(target - value, advantage)


@pytest.mark.parametrize("episodic", [True, False])
def test_two_heads_equal_the_definition(envs, episodic):
    """2 A_e + A_i; intrinsic returns continue into the next episode unless they are episodic."""
    advantage, target = two_heads(
        **tensors(envs, "extrinsic", "intrinsic", "value", "next_value", "following_value", "terminated", "done"),
        settings=settings(intrinsic_episodic=episodic),
    )
    never = np.zeros(T, bool)
    for n in range(N):
        done, terminated = envs["done"][:, n], envs["terminated"][:, n]
        value, after, following = (envs[name][:, n] for name in ("value", "next_value", "following_value"))
        first = literal(envs["extrinsic"][:, n], value[:, 0], after[:, 0], terminated, done, 0.9, 0.8)
        if episodic:
            second = literal(envs["intrinsic"][:, n], value[:, 1], after[:, 1], terminated, done, 0.7, 0.8)
        else:
            second = literal(envs["intrinsic"][:, n], value[:, 1], following[:, 1], never, never, 0.7, 0.8)
        np.testing.assert_allclose(advantage[:, n], 2 * first + second, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(target[:, n], np.stack([first, second], 1) + value, rtol=1e-12, atol=1e-12)

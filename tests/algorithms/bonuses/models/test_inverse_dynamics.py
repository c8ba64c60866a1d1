"""The inverse-dynamics model: its loss equals the definition, and it learns to predict actions."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.models.inverse_dynamics import InverseDynamics, inverse_dynamics
from bonuslab.algorithms.data.finite import NonFinite
from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE, Trajectory


def setting(seed: int = 0) -> Setting:
    return Setting(OBSERVATION_SPACE, NUM_ACTIONS, network="small", seed=seed)


def test_head_clearly_beats_chance_on_a_random_walk() -> None:
    model = inverse_dynamics(setting(), learning_rate=1e-3)
    *seen, unseen = Trajectory(num_envs=8, num_steps=1620, seed=1).cut([20] * 81)
    before = model.learn(seen[0])
    for fragment in seen[1:]:
        after = model.learn(fragment)
    accuracy = (model.logits(unseen).argmax(-1).numpy() == unseen.action).mean()
    assert accuracy > 3 / NUM_ACTIONS  # chance is 1/8; walls hide some actions, so the best possible is about 0.8
    assert after["inverse_dynamics_loss"] < 0.7 * before["inverse_dynamics_loss"]


def test_loss_is_summed_over_time_and_averaged_over_envs_with_true_next_states() -> None:
    model = InverseDynamics(setting(), learning_rate=1e-4)
    fragment = Trajectory(num_envs=3, num_steps=12, seed=2, mean_episode=4).cut([12])[0]
    features = model.features(fragment)
    finals = {(int(t), int(n)): row for row, (t, n) in enumerate(fragment.final_index)}
    assert len(finals) > 2
    loss = 0.0
    with torch.no_grad():
        for t, n in np.ndindex(12, 3):
            current = features.states[t * 3 + n]
            if (t, n) in finals:
                following = features.states[13 * 3 + finals[t, n]]
            else:
                following = features.states[(t + 1) * 3 + n]
            logits = model._head(torch.cat([current, following]))
            loss -= float(logits.log_softmax(-1)[fragment.action[t, n]])
    assert model.learn(fragment)["inverse_dynamics_loss"] == pytest.approx(loss / 3, rel=1e-5)


@pytest.mark.parametrize("network", ["tiny", "paper"])
def test_logits_and_gradients_are_those_of_the_head_on_every_transition(network: str) -> None:
    model = InverseDynamics(Setting(OBSERVATION_SPACE, NUM_ACTIONS, network=network), learning_rate=1e-4)
    fragment = Trajectory(num_envs=3, num_steps=8, seed=4, mean_episode=4).cut([8])[0]
    parameters = [*model._encoder.parameters(), *model._head.parameters()]
    results = []
    for _ in range(2):
        features = model.features(fragment)
        logits = (
            model._head(torch.cat([features.current, features.following], -1)) if results else model.logits(fragment)
        )
        results.append([logits, *torch.autograd.grad(logits.square().sum(), parameters, allow_unused=True)])
        model.forget()
    for ours, plain in zip(*results, strict=True):
        torch.testing.assert_close(ours, plain, rtol=1e-4, atol=1e-5)


def test_a_fragment_is_learnt_once() -> None:
    model = InverseDynamics(setting(), learning_rate=1e-3)
    fragment, other = Trajectory(num_envs=2, num_steps=10).cut([5, 5])
    assert model.learn(fragment) is model.learn(fragment)
    weights = copy.deepcopy(model.state_dict()["head"])
    model.learn(fragment)
    assert all(torch.equal(weights[key], value) for key, value in model.state_dict()["head"].items())
    model.learn(other)
    assert not torch.equal(weights["0.weight"], model.state_dict()["head"]["0.weight"])


def test_works_under_no_grad() -> None:
    model = InverseDynamics(setting(), learning_rate=1e-3)
    fragment = Trajectory(num_envs=2, num_steps=5).cut([5])[0]
    with torch.no_grad():
        assert model.learn(fragment)["inverse_dynamics_loss"] > 0


def test_state_round_trips_exactly() -> None:
    first, second = Trajectory(num_envs=2, num_steps=20).cut([10, 10])
    original, restored = InverseDynamics(setting(), 1e-3), InverseDynamics(setting(seed=5), 1e-3)
    original.learn(first)
    restored.load_state_dict(copy.deepcopy(original.state_dict()))
    assert original.learn(second) == restored.learn(second)
    assert torch.equal(original.features(first).states, restored.features(first).states)


def test_a_non_finite_loss_is_reported() -> None:
    model = InverseDynamics(setting(), learning_rate=1e-3)
    with torch.no_grad():
        model._head[2].bias[0] = torch.nan
    with pytest.raises(NonFinite, match="inverse-dynamics loss"):
        model.learn(Trajectory(num_envs=2, num_steps=5).cut([5])[0])

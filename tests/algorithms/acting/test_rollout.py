"""Rollouts: consecutive fragments are contiguous, and envs are independent."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

from bonuslab.algorithms.acting.rollout import ENVS_PER_RUNNER, Rollout
from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE
from bonuslab.algorithms.networks import build_policy
from bonuslab.envs.minihack import MiniHackVectorEnv

ENVS = [0, 1, 2, 3]


def make_network(recurrent: bool = True):
    torch.manual_seed(1)
    return build_policy("small", OBSERVATION_SPACE, NUM_ACTIONS, recurrent=recurrent)


@pytest.fixture
def rollout(toy_vector_env) -> Rollout:
    return Rollout(toy_vector_env(ENVS), make_network(), runner=3, seed=5, keep_features=False)


def test_fragments_are_contiguous(rollout):
    fragments = [rollout.collect(7, weights_version=version)[0] for version in range(4)]
    for number, fragment in enumerate(fragments):
        assert fragment.sequence.tolist() == [number] * 4
        assert fragment.env_index.tolist() == [3 * ENVS_PER_RUNNER + env_index for env_index in ENVS]
        assert fragment.weights_version == number
    assert fragments[0].first[0].all()
    for before, after in pairwise(fragments):
        for key, rows in before.observations.items():
            np.testing.assert_array_equal(rows[-1], after.observations[key][0])
        for column in ("first", "episode", "context"):
            np.testing.assert_array_equal(getattr(before, column)[-1], getattr(after, column)[0])
        assert any(not np.array_equal(ours, theirs) for ours, theirs in zip(before.state, after.state, strict=True))


def test_a_fragment_matches_its_replayed_actions(rollout, toy_vector_env):
    """Replaying the recorded actions, one env at a time, gives the same fragment."""
    played = [rollout.collect(9) for _ in range(3)]
    for n in ENVS:
        envs = toy_vector_env([n])
        observations = envs.reset()
        episode = 0
        for fragment, finished in played:
            finals = {tuple(place): row for row, place in enumerate(fragment.final_index.tolist())}
            ended = iter([item for item in finished if item.env_index == n])
            for t in range(9):
                for key, rows in observations.items():
                    np.testing.assert_array_equal(fragment.observations[key][t, n], rows[0])
                assert fragment.context[t, n] == envs.contexts[0]
                assert fragment.episode[t, n] == episode
                step = envs.step(fragment.action[t, [n]])
                observations = step.observations
                assert fragment.reward[t, n] == step.reward[0]
                assert fragment.terminated[t, n] == step.terminated[0]
                assert fragment.truncated[t, n] == step.truncated[0]
                assert fragment.first[t + 1, n] == fragment.done[t, n] == ((t, n) in finals)
                for alone in step.finished:
                    episode += 1
                    for key, value in alone.final_observation.items():
                        np.testing.assert_array_equal(fragment.finals[key][finals[t, n]], value)
                    together = next(ended)
                    assert (together.length, together.total_reward) == (alone.length, alone.total_reward)
    assert sum(len(finished) for _, finished in played) > 8


@pytest.mark.parametrize("recurrent", [True, False])
def test_batched_acting_equals_acting_env_by_env(toy_vector_env, recurrent):
    network = make_network(recurrent)
    rollout = Rollout(toy_vector_env(ENVS), network, runner=0, seed=5, keep_features=True)
    first, second = (rollout.collect(8)[0] for _ in range(2))
    for n in ENVS:
        state = network.initial_state(1)
        for fragment in (first, second):
            for ours, theirs in zip(fragment.state, state, strict=True):
                np.testing.assert_allclose(ours[:, n], theirs[:, 0].detach().numpy(), rtol=1e-4, atol=1e-6)
            finals = {tuple(place): row for row, place in enumerate(fragment.final_index.tolist())}
            for t in range(8):
                seen = {key: torch.from_numpy(rows[t, [n]]) for key, rows in fragment.observations.items()}
                output = network.act(seen, torch.from_numpy(fragment.first[t, [n]]), state)
                state = output.state
                logits, features = output.logits[0].detach().numpy(), output.features[0].detach().numpy()
                np.testing.assert_allclose(fragment.behaviour_logits[t, n], logits, rtol=1e-4, atol=1e-6)
                np.testing.assert_allclose(fragment.policy_features[t, n], features, rtol=1e-4, atol=1e-6)
                if (t, n) in finals:
                    for ours, theirs in zip(fragment.final_state, state, strict=True):
                        expected = theirs[:, 0].detach().numpy()
                        np.testing.assert_allclose(ours[:, finals[t, n]], expected, rtol=1e-4, atol=1e-6)


def test_policy_features_are_recorded_only_on_request(toy_vector_env, rollout):
    assert rollout.collect(3)[0].policy_features is None
    network = make_network()
    fragment, _ = Rollout(toy_vector_env(ENVS), network, runner=0, seed=5, keep_features=True).collect(3)
    assert fragment.policy_features.shape == (4, 4, network.encoder.output_size)
    last = network.encoder({key: torch.from_numpy(rows[-1]) for key, rows in fragment.observations.items()})
    np.testing.assert_allclose(fragment.policy_features[-1], last.detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("bonus", "wanted"), [("e3b(encoder=policy)", True), ("e3b", False)])
def test_a_bonus_requests_policy_features(make_config, bonus, wanted):
    assert make_config(bonus).needs_policy_features() is wanted


def test_actions_follow_the_policy(toy_vector_env):
    """Over many steps, an action's frequency is its mean probability within five standard deviations."""
    rollout = Rollout(toy_vector_env(list(range(32))), make_network(), runner=0, seed=5, keep_features=False)
    fragment, _ = rollout.collect(200)
    weights = np.exp(fragment.behaviour_logits)
    expected = (weights / weights.sum(-1, keepdims=True)).mean((0, 1))
    found = np.bincount(fragment.action.ravel(), minlength=NUM_ACTIONS) / fragment.action.size
    np.testing.assert_allclose(found, expected, atol=5 * 0.5 / fragment.action.size**0.5)


def test_a_saved_rollout_resumes_exactly():
    """With real games, which replay their episodes."""

    def begin() -> Rollout:
        envs = MiniHackVectorEnv("MultiRoom-N2-S4", 2, max_steps=7)
        torch.manual_seed(1)
        network = build_policy("small", envs.observation_space, int(envs.action_space.n))
        return Rollout(envs, network, runner=0, seed=2, keep_features=False)

    ours, theirs = begin(), begin()
    ours.collect(10)
    theirs.set_state(ours.get_state())
    expected, _ = ours.collect(10)
    found, _ = theirs.collect(10)
    assert len(expected.final_index)
    for key, rows in expected.observations.items():
        np.testing.assert_array_equal(found.observations[key], rows)
        np.testing.assert_array_equal(found.finals[key], expected.finals[key])
    for column in ("action", "reward", "first", "episode", "context", "sequence", "behaviour_logits"):
        np.testing.assert_array_equal(getattr(found, column), getattr(expected, column))
    ours._envs.close()
    theirs._envs.close()

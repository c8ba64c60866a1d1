"""Rollouts in Gymnasium environments: they resume exactly, or start new episodes where that is impossible."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from bonuslab.algorithms.acting.rollout import Rollout
from bonuslab.algorithms.networks import build_policy
from bonuslab.envs.catalogue import make_vector_env


class Forgetful(gym.Env):
    """Unseeded noise; episodes of nine steps."""

    observation_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.steps = 0
        return self._noise(), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        return self._noise(), 0.0, self.steps == 9, False, {}

    def _noise(self) -> np.ndarray:
        return np.random.default_rng().uniform(-1, 1, 2).astype(np.float32)


def begin(name: Any, **settings: Any) -> Rollout:
    envs = make_vector_env(name, 3, seed=1, **settings)
    torch.manual_seed(1)
    network = build_policy("auto", envs.observation_space, int(envs.action_space.n))
    return Rollout(envs, network, runner=0, seed=2, keep_features=False)


@pytest.mark.parametrize("name", ["CartPole-v1", "MiniGrid-MultiRoom-N2-S4-v0"])
def test_a_saved_rollout_resumes_exactly(name: str) -> None:
    ours, theirs = begin(name, max_episode_steps=17), begin(name, max_episode_steps=17)
    ours.collect(10)
    theirs.set_state(pickle.loads(pickle.dumps(ours.get_state())))
    expected, found = ours.collect(20)[0], theirs.collect(20)[0]
    assert len(expected.final_index)
    for key, rows in expected.observations.items():
        np.testing.assert_array_equal(found.observations[key], rows)
        np.testing.assert_array_equal(found.finals[key], expected.finals[key])
    for column in ("action", "reward", "first", "episode", "context", "behaviour_logits", "terminated", "truncated"):
        np.testing.assert_array_equal(getattr(found, column), getattr(expected, column))


@pytest.mark.filterwarnings("ignore:.*ignores its seed")
def test_an_episode_that_cannot_be_replayed_is_replaced() -> None:
    ours, theirs = begin(Forgetful), begin(Forgetful)
    before, _ = ours.collect(4)
    state = pickle.loads(pickle.dumps(ours.get_state()))
    theirs.set_state(state)
    after, finished = theirs.collect(12)
    assert after.first[0].all()
    assert (after.episode[0] == before.episode[-1] + 1).all()
    assert (after.observations["obs"][0] != before.observations["obs"][-1]).all()
    assert [tuple(place) for place in after.final_index] == [(8, 0), (8, 1), (8, 2)]
    assert [episode.length for episode in finished] == [9, 9, 9]
    assert not state["first"].any(), "the saved state must not change"

"""Evaluation: each env's first episodes, held-out contexts, greedy or sampled."""

from __future__ import annotations

import pytest
import torch

from bonuslab.algorithms.acting import evaluation
from bonuslab.algorithms.acting.evaluation import evaluate
from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE
from bonuslab.algorithms.networks import build_policy
from bonuslab.envs.minihack.contexts import MiniHackContexts


@pytest.fixture
def network():
    torch.manual_seed(0)
    return build_policy("small", OBSERVATION_SPACE, NUM_ACTIONS)


def test_each_env_contributes_its_first_episodes(network, toy_vector_env):
    """Not those that finish first overall, which would be short ones."""
    together = evaluate(network, toy_vector_env([0, 1, 2]), 7, greedy=True, seed=0).episodes
    assert [sum(episode.env_index == env_index for episode in together) for env_index in range(3)] == [3, 3, 1]
    for env_index, share in enumerate([3, 3, 1]):
        alone = evaluate(network, toy_vector_env([env_index]), share, greedy=True, seed=0).episodes
        ours = [(episode.context, episode.length) for episode in together if episode.env_index == env_index]
        assert ours == [(episode.context, episode.length) for episode in alone]


def test_metrics_are_means_over_episodes(network, toy_vector_env):
    first = evaluate(network, toy_vector_env([0, 1]), 6, greedy=False, seed=0)
    metrics = first.metrics()
    assert metrics["num_episodes"] == 6
    assert metrics["episode_len_mean"] == pytest.approx(sum(item.length for item in first.episodes) / 6)
    assert metrics["win_rate"] == pytest.approx(sum(item.end_status == "won" for item in first.episodes) / 6)
    again = evaluate(network, toy_vector_env([0, 1]), 6, greedy=False, seed=0)
    other = evaluate(network, toy_vector_env([0, 1]), 6, greedy=False, seed=1)
    assert again.metrics() == metrics
    assert [item.length for item in other.episodes] != [item.length for item in first.episodes]


def test_contexts_are_held_out(make_config, running, monkeypatch):
    """Evaluation uses contexts that no training stream can draw, the same every time."""

    seen = []

    def spy(network, envs, num_episodes, greedy, seed):
        outcome = evaluate(network, envs, num_episodes, greedy, seed)
        seen.append({episode.context for episode in outcome.episodes})
        return outcome

    monkeypatch.setattr(evaluation, "evaluate", spy)
    trained = running(make_config("none", max_steps=5).run_serially().evaluation(evaluation_duration=3))
    trained.evaluate()
    training = MiniHackContexts("inf", 0)._range
    assert len(seen) == 2
    assert seen[0] == seen[1]
    assert all(not training[0] <= context < training[1] for context in seen[0])

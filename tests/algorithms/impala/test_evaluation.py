"""Evaluation: each lane's first episodes, held-out contexts, greedy or sampled."""

from __future__ import annotations

import pytest
import torch

from bonuslab.algorithms.evaluation import evaluate
from bonuslab.algorithms.networks import build_policy
from bonuslab.algorithms.synthetic import NUM_ACTIONS, OBSERVATION_SPACE
from bonuslab.envs.minihack.contexts import Contexts


@pytest.fixture
def network():
    torch.manual_seed(0)
    return build_policy("small", OBSERVATION_SPACE, NUM_ACTIONS)


def test_every_lane_gives_its_first_episodes(network, toy_lanes):
    """Not those that end first anywhere, which would be the short ones."""
    together = evaluate(network, toy_lanes([0, 1, 2]), 7, greedy=True, seed=0).episodes
    assert [sum(episode.lane == lane for episode in together) for lane in range(3)] == [3, 3, 1]
    for lane, share in enumerate([3, 3, 1]):
        alone = evaluate(network, toy_lanes([lane]), share, greedy=True, seed=0).episodes
        ours = [(episode.context, episode.length) for episode in together if episode.lane == lane]
        assert ours == [(episode.context, episode.length) for episode in alone]


def test_means_over_the_episodes(network, toy_lanes):
    evaluation = evaluate(network, toy_lanes([0, 1]), 6, greedy=False, seed=0)
    metrics = evaluation.metrics()
    assert metrics["num_episodes"] == 6
    assert metrics["episode_len_mean"] == pytest.approx(sum(item.length for item in evaluation.episodes) / 6)
    assert metrics["win_rate"] == pytest.approx(sum(item.end_status == "won" for item in evaluation.episodes) / 6)
    again = evaluate(network, toy_lanes([0, 1]), 6, greedy=False, seed=0)
    other = evaluate(network, toy_lanes([0, 1]), 6, greedy=False, seed=1)
    assert again.metrics() == metrics
    assert [item.length for item in other.episodes] != [item.length for item in evaluation.episodes]


def test_contexts_are_held_out(make_config, running, monkeypatch):
    """The algorithm evaluates on contexts that no training stream can draw, the same ones every time."""
    from bonuslab.algorithms import fragment_algorithm as module

    seen = []

    def spy(network, lanes, num_episodes, greedy, seed):
        outcome = evaluate(network, lanes, num_episodes, greedy, seed)
        seen.append({episode.context for episode in outcome.episodes})
        return outcome

    monkeypatch.setattr(module, "evaluate", spy)
    trained = running(make_config("none", max_steps=5).run_serially().evaluation(evaluation_duration=3))
    trained.evaluate()
    training = Contexts("inf", 0)._range
    assert len(seen) == 2
    assert seen[0] == seen[1]
    assert all(not training[0] <= context < training[1] for context in seen[0])

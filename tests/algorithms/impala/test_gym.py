"""IMPALA on Gymnasium environments in serial mode."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from gymnasium.envs.classic_control import CartPoleEnv

from bonuslab.algorithms.impala.config import IMPALAConfig
from bonuslab.envs.catalogue import canonical_name


class Pole(CartPoleEnv):
    """An environment class of a user's script."""


MINIGRID = ["MiniGrid-MultiRoom-N6-v0", "MiniGrid-KeyCorridorS3R3-v0", "MiniGrid-ObstructedMaze-2Dlhb-v1"]


def train(environment: Any, bonus: str) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    config = IMPALAConfig().environment(
        canonical_name(environment), env_config={"contexts": "3", "max_episode_steps": 20}
    )
    config.training(network="auto").bonus(bonus, network="auto").run_serially()
    config.env_runners(num_envs_per_env_runner=4, rollout_fragment_length=25)
    algorithm = config.build_algo()
    try:
        results = [algorithm.train() for _ in range(2)][-1]
        weights = algorithm.get_module().network.state_dict()
        return results | {"held_out": algorithm.evaluate()}, {key: value.clone() for key, value in weights.items()}
    finally:
        algorithm.stop()


@pytest.mark.parametrize(
    ("environment", "bonus"),
    [
        ("CartPole-v1", "e3b * rnd"),
        (Pole, "none"),
        ("MiniGrid-MultiRoom-N2-S4-v0", "count.episodic(agent_position) * count.global(pixels)"),
    ],
)
def test_the_same_seed_gives_the_same_weights(environment: Any, bonus: str) -> None:
    (results, weights), (_, again) = train(environment, bonus), train(environment, bonus)
    assert results["env_runners"]["num_env_steps_sampled_lifetime"] == 200
    assert 1 <= results["env_runners"]["episode_len_mean"] <= 20
    assert results["held_out"]["greedy"]["num_episodes"] == 32
    assert all(torch.equal(weights[key], again[key]) for key in weights)
    assert all(value.isfinite().all() for value in weights.values())


@pytest.mark.parametrize("environment", MINIGRID)
def test_minigrids_benchmarks_train_with_counts_of_cells(environment: str) -> None:
    results, weights = train(environment, "count.episodic(agent_position) * count.global(position)")
    assert results["env_runners"]["episode_len_mean"] == 20
    assert any(value > 0 for name, value in results["bonus"].items() if "mean" in name), results["bonus"]
    assert all(value.isfinite().all() for value in weights.values())

"""Both algorithms as Tune trainables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ray import tune

from bonuslab.algorithms.ddppo.config import DDPPOConfig
from bonuslab.algorithms.ddppo.hyperparameters import LAPTOP
from bonuslab.algorithms.impala.algorithm import IMPALA
from bonuslab.algorithms.learning.checkpoint import verify

BONUS = "count.episodic(position)"


def fit(config: Any, folder: Path) -> Any:
    """Two iterations of each trial, with a checkpoint at the end."""
    run_config = tune.RunConfig(
        name="trials",
        storage_path=str(folder),
        stop={"training_iteration": 2},
        checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=True),
        verbose=0,
    )
    grid = tune.Tuner(config.algo_class, param_space=config, run_config=run_config).fit()
    assert not grid.errors
    for result in grid:
        assert result.metrics["training_iteration"] == 2
        assert result.metrics["bonus"]["term/count.episodic/raw_mean"] > 0
        verify(Path(result.checkpoint.path))
    return grid


@pytest.mark.cluster
@pytest.mark.parametrize("serial", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_two_trials_of_impala(cluster, make_config, tmp_path, serial):
    config = make_config(BONUS).training(lr=tune.grid_search([1e-3, 1e-4]))
    if serial:
        config.run_serially()
    grid = fit(config.evaluation(evaluation_interval=2, evaluation_duration=2), tmp_path)
    assert sorted(result.config["lr"] for result in grid) == [1e-4, 1e-3]
    for result in grid:
        assert result.metrics["env_runners"]["num_env_steps_sampled_lifetime"] >= 2 * 4 * 8
        assert result.metrics["evaluation"]["greedy"]["num_episodes"] == 2
        assert result.metrics["learners"]["default_policy"]["default_optimizer_learning_rate"] == result.config["lr"]


@pytest.mark.cluster
@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_a_trial_of_ddppo(cluster, tmp_path, workers):
    config = DDPPOConfig().environment("MultiRoom-N2-S4").apply(LAPTOP.values).bonus(BONUS)
    config.env_runners(num_envs_per_env_runner=4, rollout_fragment_length=8, num_env_runners=workers)
    config.env_runners(num_cpus_per_env_runner=0.5).reporting(min_time_s_per_iteration=0)
    (result,) = fit(config if workers else config.run_serially(), tmp_path)
    assert result.metrics["workers"]["num_workers"] == max(1, workers)
    assert result.metrics["env_runners"]["num_env_steps_sampled_lifetime"] == max(1, workers) * 2 * 4 * 8


def test_the_bonus_actor_has_its_own_bundle_if_it_needs_one(make_config):
    plain = IMPALA.default_resource_request(make_config("none").to_dict())
    with_cpu = IMPALA.default_resource_request(make_config("none").training(num_cpus_for_bonus=1.0).to_dict())
    assert len(with_cpu.bundles) == len(plain.bundles) + 1
    assert with_cpu.bundles[-1]["CPU"] == 1

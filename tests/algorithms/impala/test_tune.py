"""The algorithm inside Tune, as any of RLlib's."""

from __future__ import annotations

from pathlib import Path

import pytest
from ray import tune

from bonuslab.algorithms.impala.algorithm import IMPALA
from bonuslab.algorithms.learning.checkpoint import verify


@pytest.mark.cluster
@pytest.mark.parametrize("serial", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_two_trials(cluster, make_config, tmp_path, serial):
    config = make_config("count.episodic(position)").training(lr=tune.grid_search([1e-3, 1e-4]))
    if serial:
        config.run_serially()
    config.evaluation(evaluation_interval=2, evaluation_duration=2)
    run_config = tune.RunConfig(
        name="trials",
        storage_path=str(tmp_path),
        stop={"training_iteration": 2},
        checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=True),
        verbose=0,
    )
    grid = tune.Tuner(IMPALA, param_space=config, run_config=run_config).fit()
    assert not grid.errors
    assert sorted(result.config["lr"] for result in grid) == [1e-4, 1e-3]
    for result in grid:
        assert result.metrics["training_iteration"] == 2
        assert result.metrics["env_runners"]["num_env_steps_sampled_lifetime"] >= 2 * 4 * 8
        assert result.metrics["bonus"]["term/count.episodic/raw_mean"] > 0
        assert result.metrics["evaluation"]["greedy"]["num_episodes"] == 2
        assert result.metrics["learners"]["default_policy"]["default_optimizer_learning_rate"] == result.config["lr"]
        verify(Path(result.checkpoint.path))


def test_the_bonus_actor_has_its_own_bundle_where_it_needs_one(make_config):
    plain = IMPALA.default_resource_request(make_config("none").to_dict())
    asked = IMPALA.default_resource_request(make_config("none").training(num_cpus_for_bonus=1.0).to_dict())
    assert len(asked.bundles) == len(plain.bundles) + 1
    assert asked.bundles[-1]["CPU"] == 1

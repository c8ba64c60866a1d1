"""DD-PPO inside Tune: a trial of two workers, and one in serial mode."""

from __future__ import annotations

from pathlib import Path

import pytest
from ray import tune

from bonuslab.algorithms.ddppo.algorithm import DDPPO
from bonuslab.algorithms.learning.checkpoint import verify

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize("serial", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_trial_reports_and_checkpoints(cluster, make_config, tmp_path, serial):
    config = make_config("count.episodic(position)")
    if serial:
        config.run_serially()
    run_config = tune.RunConfig(
        name="trials",
        storage_path=str(tmp_path),
        stop={"training_iteration": 2},
        checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=True),
        verbose=0,
    )
    grid = tune.Tuner(DDPPO, param_space=config, run_config=run_config).fit()
    assert not grid.errors
    result = grid[0]
    workers = 1 if serial else 2
    assert result.metrics["workers"]["num_workers"] == workers
    assert result.metrics["env_runners"]["num_env_steps_sampled_lifetime"] == workers * 2 * 4 * 8
    assert result.metrics["bonus"]["term/count.episodic/raw_mean"] > 0
    verify(Path(result.checkpoint.path))

"""A small configuration of DD-PPO."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bonuslab.algorithms.ddppo.config import DDPPOConfig
from bonuslab.algorithms.ddppo.hyperparameters import LAPTOP

TASK = "MultiRoom-N2-S4"


def small(bonus: str = "count.global(position)", envs: int = 4, steps: int = 8, **env: Any) -> DDPPOConfig:
    """The laptop preset with few envs and short rollouts; an update takes milliseconds."""
    config = DDPPOConfig().environment(TASK, env_config={"contexts": "inf", **env})
    config.apply(LAPTOP.values)
    config.env_runners(num_envs_per_env_runner=envs, rollout_fragment_length=steps, num_env_runners=2)
    config.env_runners(num_cpus_per_env_runner=0.5)
    config.training(num_epochs=2, num_minibatches=2)
    config.min_time_s_per_iteration = 0.0
    return config.bonus(bonus)


@pytest.fixture(scope="session")
def make_config() -> Callable[..., DDPPOConfig]:
    """`make_config(bonus, envs=…, steps=…, **env_config)`."""
    return small

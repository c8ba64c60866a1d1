"""Small configurations of IMPALA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bonuslab.algorithms.impala.config import IMPALAConfig
from bonuslab.algorithms.impala.presets import preset

TASK = "MultiRoom-N2-S4"


def small(bonus: str = "count.global(position)", envs: int = 4, steps: int = 8, **env: Any) -> IMPALAConfig:
    """The laptop preset with few environments and short fragments: an update takes some hundredths of a second."""
    config = IMPALAConfig().environment(TASK, env_config={"contexts": "inf", **env})
    preset("laptop").configure(config)
    config.env_runners(num_envs_per_env_runner=envs, rollout_fragment_length=steps, num_env_runners=1)
    config.training(num_epochs=1, num_minibatches=2)
    config.min_time_s_per_iteration = 0.0
    return config.bonus(bonus)


@pytest.fixture(scope="session")
def make_config() -> Callable[..., IMPALAConfig]:
    """`make_config(bonus, environments=…, steps=…, **env_config)`."""
    return small

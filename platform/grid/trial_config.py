"""RLlib's configuration of a trial that has a given share of a cluster, and what Ray reserves for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ray.tune.execution.placement_groups import PlacementGroupFactory

from bonuslab.algorithms.rllib.catalogue import find as find_algorithm
from bonuslab.platform.grid.share import Share
from bonuslab.platform.run.config import RunSettings
from bonuslab.platform.run.single_run import SECONDS_PER_ITERATION

GPU_SETTINGS = ("num_gpus_per_learner", "num_gpus_for_bonus")
"""Parts of one GPU in a plan: a trial that has only a part of it gets that much of them."""


def configured(settings: RunSettings, share: Share) -> Any:
    """The configuration, whatever else the cluster has."""
    config = settings.config()
    if settings.serial:
        return config
    find_algorithm(settings.algorithm).choose_plan("workstation", share.cpus, share.gpus).configure(config)
    for name in GPU_SETTINGS:
        setattr(config, name, getattr(config, name, 0.0) * min(1.0, share.gpus))
    return config.reporting(min_time_s_per_iteration=SECONDS_PER_ITERATION)


def resources(settings: Mapping[str, Any], share: Share) -> PlacementGroupFactory:
    """What Ray has to reserve for a trial with the settings of its description."""
    if settings["serial"]:
        return PlacementGroupFactory([{"CPU": 1}])
    config = configured(RunSettings.from_dict(dict(settings)), share)
    return config.algo_class.default_resource_request(config)

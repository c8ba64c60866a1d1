"""CPUs and GPUs of one trial, and RLlib's configuration of a trial that has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bonuslab.envs.errors import InvalidInput

if TYPE_CHECKING:
    from ray.tune.execution.placement_groups import PlacementGroupFactory

    from bonuslab.platform.run.config import Config

# A declaration of an experiment loads this module for `--help`; RLlib is imported once trials are wanted.

SECONDS_PER_ITERATION = 2.0
"""Least time between two rows of a trial with workers; in serial mode there is none."""
GPU_SETTINGS = ("num_gpus_per_learner", "num_gpus_for_bonus")
"""Fractions of one GPU: a trial that has only a fraction of a GPU gets that much of them."""


@dataclass(frozen=True)
class TrialResources:
    """CPUs and GPUs of a trial. One CPU means one process: most steps per CPU, and bit-for-bit reproducible."""

    cpus: int = 1
    gpus: float = 0.0

    def __post_init__(self) -> None:
        if self.cpus < 1 or self.gpus < 0:
            raise InvalidInput(f"a trial cannot have {self.cpus} CPUs and {self.gpus:g} GPUs")
        if self.gpus and self.serial:
            raise InvalidInput("a trial with one CPU runs in one process, which does not use a GPU; give it more CPUs")

    @property
    def serial(self) -> bool:
        """Whether the trial is one process."""
        return self.cpus == 1

    def configure(self, config: Config) -> Any:
        """RLlib's configuration of a trial with these resources, whatever else the cluster has."""
        from bonuslab.algorithms.catalogue import find

        rllib_config = config.rllib()
        if config.serial:
            return rllib_config
        find(config.algorithm).choose_resources("workstation", self.cpus, self.gpus).configure(rllib_config)
        for name in GPU_SETTINGS:
            setattr(rllib_config, name, getattr(rllib_config, name, 0.0) * min(1.0, self.gpus))
        return rllib_config.reporting(min_time_s_per_iteration=SECONDS_PER_ITERATION)

    def request(self, config: Mapping[str, Any]) -> PlacementGroupFactory:
        """What Ray has to reserve for a trial with the configuration of its description."""
        from ray.tune.execution.placement_groups import PlacementGroupFactory

        from bonuslab.platform.run.config import Config

        if config["serial"]:
            return PlacementGroupFactory([{"CPU": 1}])
        rllib_config = self.configure(Config.from_dict(config))
        return rllib_config.algo_class.default_resource_request(rllib_config)

    def __str__(self) -> str:
        cpus = f"{self.cpus} CPU{'s' if self.cpus > 1 else ''}"
        return f"{cpus} and {self.gpus:g} GPU" if self.gpus else cpus


ONE_PROCESS = TrialResources()

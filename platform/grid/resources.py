"""CPUs and GPUs per trial, and the RLlib configuration for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bonuslab.envs.errors import InvalidInput

if TYPE_CHECKING:
    from ray.tune.execution.placement_groups import PlacementGroupFactory

    from bonuslab.platform.run.config import Config

# `bonuslab --help` imports this module; RLlib is imported only to build the trials.

SECONDS_PER_ITERATION = 0.25
"""Minimum time per iteration with workers, and so of what a run trains beyond its last step; none in serial mode."""
GPU_SETTINGS = ("num_gpus_per_learner", "num_gpus_for_bonus")
"""Scaled down if a trial has only a fraction of a GPU."""


@dataclass(frozen=True)
class TrialResources:
    """CPUs and GPUs of a trial. With one CPU it runs in one process: most steps per CPU, bit-for-bit reproducible."""

    cpus: int = 1
    gpus: float = 0.0

    def __post_init__(self) -> None:
        if self.cpus < 1 or self.gpus < 0:
            raise InvalidInput(f"a trial cannot have {self.cpus} CPUs and {self.gpus:g} GPUs")
        if self.gpus and self.serial:
            raise InvalidInput("a trial with one CPU runs in one process, which uses no GPU; give it more CPUs")

    @property
    def serial(self) -> bool:
        """Whether the trial runs in one process."""
        return self.cpus == 1

    def configure(self, config: Config) -> Any:
        """The RLlib configuration of a trial with these resources."""
        from bonuslab.algorithms.catalogue import find

        rllib_config = config.rllib()
        if config.serial:
            return rllib_config
        find(config.algorithm).choose_resources("workstation", self.cpus, self.gpus).configure(rllib_config)
        for name in GPU_SETTINGS:
            setattr(rllib_config, name, getattr(rllib_config, name, 0.0) * min(1.0, self.gpus))
        return rllib_config.reporting(min_time_s_per_iteration=SECONDS_PER_ITERATION)

    def request(self, config: Mapping[str, Any]) -> PlacementGroupFactory:
        """The placement group of a trial, given the configuration in its description."""
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

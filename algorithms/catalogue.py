"""Algorithms by name: configuration, presets and resources. Each is imported on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from bonuslab.algorithms.rllib.config import FragmentConfig
from bonuslab.algorithms.rllib.hyperparameters import Hyperparameters, Preset
from bonuslab.algorithms.rllib.resources import choose_resources
from bonuslab.envs.errors import unknown


@dataclass(frozen=True)
class AlgorithmEntry:
    """An algorithm as a run uses it."""

    name: str
    config: type[FragmentConfig]
    layouts: Mapping[str, Callable[[int, float], Any]]
    """Resource layouts: `layouts[name](cpus, gpus).configure(config)` sets processes and devices."""

    @property
    def hyperparameters(self) -> type[Hyperparameters]:
        """Class of its hyperparameters."""
        return self.config.hyperparameters_class

    @property
    def presets(self) -> Mapping[str, Preset[Any]]:
        """By name."""
        return self.config.presets

    def preset(self, name: str) -> Preset[Any]:
        """The preset of this name."""
        if name not in self.presets:
            raise unknown(f"preset of {self.name}", name, self.presets)
        return self.presets[name]

    def choose_resources(self, name: str = "auto", cpus: int | None = None, gpus: float | None = None) -> Any:
        """The named layout, or the best fit, for these or all available CPUs and GPUs."""
        return choose_resources(self.layouts, name, cpus, gpus)


def _impala() -> AlgorithmEntry:
    from bonuslab.algorithms.impala.config import IMPALAConfig
    from bonuslab.algorithms.impala.resources import LAYOUTS

    return AlgorithmEntry("impala", IMPALAConfig, LAYOUTS)


def _ddppo() -> AlgorithmEntry:
    from bonuslab.algorithms.ddppo.config import DDPPOConfig
    from bonuslab.algorithms.ddppo.resources import LAYOUTS

    return AlgorithmEntry("ddppo", DDPPOConfig, LAYOUTS)


_ALGORITHMS: dict[str, Callable[[], AlgorithmEntry]] = {"impala": _impala, "ddppo": _ddppo}
ALGORITHMS = tuple(_ALGORITHMS)
"""Names of all algorithms."""


@lru_cache
def find(name: str) -> AlgorithmEntry:
    """The algorithm of this name."""
    if name not in _ALGORITHMS:
        raise unknown("algorithm", name, _ALGORITHMS)
    return _ALGORITHMS[name]()

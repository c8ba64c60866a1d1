"""Algorithms by name: their configuration, presets and resources. Each is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from bonuslab.algorithms.rllib.config import FragmentConfig
from bonuslab.algorithms.rllib.hyperparameters import Hyperparameters, Preset
from bonuslab.envs.errors import unknown


@dataclass(frozen=True)
class AlgorithmEntry:
    """What a run needs to know of an algorithm."""

    name: str
    config: type[FragmentConfig]
    presets: Mapping[str, Preset[Any]]
    choose_resources: Callable[..., Any]
    """`choose_resources(name, cpus=None, gpus=None)`: its `configure(config)` sets processes and devices."""

    @property
    def hyperparameters(self) -> type[Hyperparameters]:
        """The class of its hyperparameters."""
        return self.config.hyperparameters_class

    def preset(self, name: str) -> Preset[Any]:
        """The preset of this name."""
        if name not in self.presets:
            raise unknown(f"preset of {self.name}", name, self.presets)
        return self.presets[name]


def _impala() -> AlgorithmEntry:
    from bonuslab.algorithms.impala.config import IMPALAConfig
    from bonuslab.algorithms.impala.hyperparameters import PRESETS
    from bonuslab.algorithms.impala.resources import choose_resources

    return AlgorithmEntry("impala", IMPALAConfig, PRESETS, choose_resources)


def _ddppo() -> AlgorithmEntry:
    from bonuslab.algorithms.ddppo.config import DDPPOConfig
    from bonuslab.algorithms.ddppo.hyperparameters import PRESETS
    from bonuslab.algorithms.ddppo.resources import choose_resources

    return AlgorithmEntry("ddppo", DDPPOConfig, PRESETS, choose_resources)


_ALGORITHMS: dict[str, Callable[[], AlgorithmEntry]] = {"impala": _impala, "ddppo": _ddppo}
ALGORITHMS = tuple(_ALGORITHMS)
"""Names of all algorithms."""


@lru_cache
def find(name: str) -> AlgorithmEntry:
    """The algorithm of this name."""
    if name not in _ALGORITHMS:
        raise unknown("algorithm", name, _ALGORITHMS)
    return _ALGORITHMS[name]()

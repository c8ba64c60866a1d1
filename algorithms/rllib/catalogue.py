"""Algorithms by name: their configuration, their presets and their resource plans.

An algorithm is imported when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, Protocol

from bonuslab.algorithms.rllib.config import FragmentConfig
from bonuslab.envs.errors import unknown


class Numbers(Protocol):
    """A preset: a frozen dataclass of all the numbers of an algorithm."""

    total_env_steps: int
    unroll_length_steps: int
    envs_per_batch: int

    def configure(self, config: Any) -> Any:
        """Set these numbers in an RLlib configuration."""
        ...


class Plan(Protocol):
    """Processes and their resources."""

    def configure(self, config: Any) -> Any:
        """Set these resources in an RLlib configuration."""
        ...


@dataclass(frozen=True)
class LearningAlgorithm:
    """What a run needs to know of an algorithm."""

    name: str
    config: type[FragmentConfig]
    presets: Mapping[str, Any]
    """`Numbers` by name; `laptop` is always there."""
    choose_plan: Callable[..., Any]
    """`choose_plan(name, cpus=None, gpus=None)`: a `Plan`."""

    @property
    def numbers(self) -> type:
        """The class of the presets."""
        return type(self.presets["laptop"])

    def preset(self, name: str, changes: Mapping[str, Any]) -> Any:
        """The preset of this name with some numbers changed."""
        if name not in self.presets:
            raise unknown(f"preset of {self.name}", name, self.presets)
        known = {item.name for item in fields(self.numbers)}
        for changed in changes:
            if changed not in known:
                raise unknown(f"setting of {self.name}", changed, known)
        return replace(self.presets[name], **changes)


def _impala() -> LearningAlgorithm:
    from bonuslab.algorithms.impala.config import IMPALAConfig
    from bonuslab.algorithms.impala.presets import PRESETS
    from bonuslab.algorithms.impala.resources import choose_plan

    return LearningAlgorithm("impala", IMPALAConfig, PRESETS, choose_plan)


def _ddppo() -> LearningAlgorithm:
    from bonuslab.algorithms.ddppo.config import DDPPOConfig
    from bonuslab.algorithms.ddppo.presets import PRESETS
    from bonuslab.algorithms.ddppo.resources import choose_plan

    return LearningAlgorithm("ddppo", DDPPOConfig, PRESETS, choose_plan)


_ALGORITHMS: dict[str, Callable[[], LearningAlgorithm]] = {"impala": _impala, "ddppo": _ddppo}
ALGORITHMS = tuple(_ALGORITHMS)
"""Names of all algorithms."""


@lru_cache
def find(name: str) -> LearningAlgorithm:
    """The algorithm of this name."""
    if name not in _ALGORITHMS:
        raise unknown("algorithm", name, _ALGORITHMS)
    return _ALGORITHMS[name]()

"""What a bonus is built for (spaces, network family, seed, device), and the models its terms share."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import gymnasium as gym
import torch

from bonuslab.algorithms.bonuses.models.shared_model import SharedModel
from bonuslab.algorithms.learning.collectives import Collectives
from bonuslab.envs.errors import InvalidInput

M = TypeVar("M", bound=SharedModel)


@dataclass
class Setting:
    """The environment's spaces and the network family a bonus is built for, and its shared models."""

    observation_space: gym.spaces.Dict
    num_actions: int
    network: str = "paper"
    """Name of the network family (`bonuslab.algorithms.networks`)."""
    seed: int = 0
    device: str = "cpu"
    variant: str = "ours"
    """Details of the bonuses (`VARIANTS`): ours, or those of the authors' MiniHack or Habitat program."""
    grad_clip: float = 40.0
    """Maximum gradient norm of each network."""
    collectives: Collectives = field(default_factory=Collectives)
    """Connects the replicas of this bonus in other workers (DD-PPO), which learn and count as one."""
    models: dict[str, SharedModel] = field(default_factory=dict)
    """Shared models by key; terms that ask for the same key get the same model."""
    saved_by_setting: ClassVar[bool] = True

    def share(self, key: str, make: Callable[[], M]) -> M:
        """The model with this key, created on first use."""
        if key not in self.models:
            with self.seeded(key):
                self.models[key] = make()
        return self.models[key]  # type: ignore[return-value]

    @contextmanager
    def seeded(self, key: str) -> Iterator[None]:
        """Seed torch's generator from the run's seed and `key` alone, whatever was drawn before."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(zlib.crc32(f"{self.seed}/{key}".encode()))  # torch on the CPU uses 32 bits of a seed
            yield

    def again(self) -> None:
        """Allow every model another update on the same fragment."""
        for model in self.models.values():
            model.again()

    def state_dict(self) -> dict[str, Any]:
        """State of every shared model."""
        return {key: model.state_dict() for key, model in self.models.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`; the keys must be the same."""
        if state.keys() != self.models.keys():
            raise ValueError(f"saved models {sorted(state)} do not match this bonus's {sorted(self.models)}")
        for key, model in self.models.items():
            model.load_state_dict(state[key])


class _WithoutActions(Setting):
    """A bonus that asks for the number of actions raises `InvalidInput`."""

    refusal = ""

    @property
    def num_actions(self) -> int:
        """There is none."""
        raise InvalidInput(self.refusal)

    @num_actions.setter
    def num_actions(self, value: int) -> None:
        """Ignored."""


def setting_for(observation_space: gym.spaces.Dict, num_actions: int, refusal: str, **build: Any) -> Setting:
    """The setting; without discrete actions, a bonus that learns from them raises `InvalidInput(refusal)`."""
    if num_actions:
        return Setting(observation_space, num_actions, **build)
    setting = _WithoutActions(observation_space, 0, **build)
    setting.refusal = refusal
    return setting

"""What the terms of one bonus expression share: spaces, seed, device, and the networks two terms both use."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import gymnasium as gym
import torch

from bonuslab.algorithms.bonuses.models.source import Source
from bonuslab.algorithms.learning.collectives import Alone

S = TypeVar("S", bound=Source)


@dataclass
class Setting:
    """The environment and network family a bonus is built for, and the pool of shared sources."""

    observation_space: gym.spaces.Dict
    num_actions: int
    network: str = "paper"
    """Name of the network family (`bonuslab.algorithms.networks`)."""
    seed: int = 0
    device: str = "cpu"
    replicas: Alone = field(default_factory=Alone)
    """The copies of this bonus in other workers (DD-PPO), which learn and count as one with it."""
    sources: dict[str, Source] = field(default_factory=dict)
    """Networks by key. Two terms that ask for the same key get the same object."""

    def share(self, key: str, make: Callable[[], S]) -> S:
        """The source with this key, made now if it is the first time it is asked for."""
        if key not in self.sources:
            with self.seeded(key):
                self.sources[key] = make()
        return self.sources[key]  # type: ignore[return-value]

    @contextmanager
    def seeded(self, key: str) -> Iterator[None]:
        """Torch's random numbers from the run's seed and `key` alone, whatever was drawn before."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(zlib.crc32(f"{self.seed}/{key}".encode()))  # torch on the CPU uses 32 bits of a seed
            yield

    def again(self) -> None:
        """Let every source learn from the fragment it has just learnt from once more."""
        for source in self.sources.values():
            source.again()

    def state_dict(self) -> dict[str, Any]:
        """State of every shared source."""
        return {key: source.state_dict() for key, source in self.sources.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`; the keys must be the same."""
        if state.keys() != self.sources.keys():
            raise ValueError(f"saved networks {sorted(state)} do not fit this bonus, which has {sorted(self.sources)}")
        for key, source in self.sources.items():
            source.forget()
            source.load_state_dict(state[key])

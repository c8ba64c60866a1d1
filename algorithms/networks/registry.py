"""Network families by name. `@register_family("name", core_size=…)` on an encoder is all it takes to add one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import gymnasium as gym

from bonuslab.algorithms.networks.encoder import Encoder
from bonuslab.algorithms.networks.policy import PolicyNetwork
from bonuslab.envs.errors import unknown

MakeEncoder = Callable[[gym.spaces.Dict], Encoder]
M = TypeVar("M", bound=MakeEncoder)


@dataclass(frozen=True)
class Family:
    """An encoder and the recurrent core that goes with it."""

    make_encoder: MakeEncoder
    """Takes the observation space."""
    core_size: int
    """Units in each layer of the policy's LSTM."""
    core_layers: int = 1
    finish: Callable[[PolicyNetwork], None] | None = None
    """Changes a fresh policy's heads, where the family has its own."""


_FAMILIES: dict[str, Family] = {}


def register_family(
    name: str, core_size: int, core_layers: int = 1, finish: Callable[[PolicyNetwork], None] | None = None
) -> Callable[[M], M]:
    """Make the decorated encoder (a class or function of the observation space) known as family `name`."""

    def decorate(make_encoder: M) -> M:
        if name in _FAMILIES:
            raise ValueError(f"network family {name!r} is taken by {_FAMILIES[name].make_encoder}")
        _FAMILIES[name] = Family(make_encoder, core_size, core_layers, finish)
        return make_encoder

    return decorate


def families() -> list[str]:
    """Names of all registered families."""
    return sorted(_FAMILIES)


def build_encoder(family: str, observation_space: gym.spaces.Dict) -> Encoder:
    """A fresh encoder, with weights from torch's current random state."""
    return _find(family).make_encoder(observation_space)


def build_policy(
    family: str,
    observation_space: gym.spaces.Dict,
    num_actions: int,
    recurrent: bool = True,
    num_values: int = 1,
) -> PolicyNetwork:
    """A fresh actor-critic network: the family's encoder, its LSTM if `recurrent`, and heads for policy and values."""
    found = _find(family)
    encoder = found.make_encoder(observation_space)
    core_size = found.core_size if recurrent else None
    network = PolicyNetwork(encoder, num_actions, core_size, found.core_layers, num_values)
    if found.finish is not None:
        found.finish(network)
    return network


def _find(family: str) -> Family:
    if family not in _FAMILIES:
        raise unknown("network family", family, _FAMILIES)
    return _FAMILIES[family]

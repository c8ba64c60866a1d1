"""Network families by name: `@register_family("name", core_size=…)` on an encoder adds one.

The family `auto` is the one that suits an environment's observations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import gymnasium as gym

from bonuslab.algorithms.networks.encoder import Encoder
from bonuslab.algorithms.networks.policy import PolicyNetwork
from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.envs.origin import check_owner

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
    check: Callable[[gym.spaces.Dict], object] | None = None
    """Raises `InvalidInput` for an observation space that the encoder cannot read."""


AUTO = "auto"
_PREFERRED = {
    "tiny": {"glyphs", "blstats", "message"},
    "pixels-small": {"rgb", "depth", "gps", "compass", "previous_action"},
    "atari": {"frames", "room", "position"},
}
"""Families that `auto` chooses where an environment shows nothing but these keys and the family can read them."""
_GENERAL = ("cnn", "mlp")
"""And for all other environments: the first that can read the space."""
_FAMILIES: dict[str, Family] = {}


def register_family(
    name: str,
    core_size: int,
    core_layers: int = 1,
    finish: Callable[[PolicyNetwork], None] | None = None,
    check: Callable[[gym.spaces.Dict], object] | None = None,
) -> Callable[[M], M]:
    """Make the decorated encoder (a class or function of the observation space) known as family `name`."""

    def decorate(make_encoder: M) -> M:
        known = _FAMILIES.get(name)
        check_owner("network", name, known and known.make_encoder, make_encoder)
        _FAMILIES[name] = Family(make_encoder, core_size, core_layers, finish, check)
        return make_encoder

    return decorate


def families() -> list[str]:
    """Names of all registered families, and `auto`."""
    return sorted([*_FAMILIES, AUTO])


def resolve_family(name: str, observation_space: gym.spaces.Dict) -> str:
    """`name`, or what `auto` stands for; a family that cannot read the space raises `InvalidInput`."""
    if name != AUTO:
        if name not in _FAMILIES:
            raise unknown("network family", name, families())
        try:
            _check(name, observation_space)
        except InvalidInput as error:
            raise InvalidInput(f"network {name!r} cannot read this environment: {error}; `auto` picks one") from error
        return name
    preferred = [family for family, keys in _PREFERRED.items() if keys.issuperset(observation_space.spaces)]
    *candidates, last = [*preferred, *_GENERAL]
    for family in candidates:
        try:
            _check(family, observation_space)
            return family
        except InvalidInput:
            continue
    return resolve_family(last, observation_space)


def build_encoder(family: str, observation_space: gym.spaces.Dict) -> Encoder:
    """A fresh encoder, with weights from torch's current random state."""
    return _FAMILIES[resolve_family(family, observation_space)].make_encoder(observation_space)


def build_policy(
    family: str,
    observation_space: gym.spaces.Dict,
    num_actions: int,
    recurrent: bool = True,
    num_values: int = 1,
) -> PolicyNetwork:
    """A fresh actor-critic network: the family's encoder, its LSTM if `recurrent`, and heads for policy and values."""
    found = _FAMILIES[resolve_family(family, observation_space)]
    encoder = found.make_encoder(observation_space)
    core_size = found.core_size if recurrent else None
    network = PolicyNetwork(encoder, num_actions, core_size, found.core_layers, num_values)
    if found.finish is not None:
        found.finish(network)
    return network


def needs_keys(*keys: str) -> Callable[[gym.spaces.Dict], None]:
    """A `check` for encoders that read certain observations."""

    def check(observation_space: gym.spaces.Dict) -> None:
        missing = [key for key in keys if key not in observation_space.spaces]
        if missing:
            raise InvalidInput(
                f"it needs {', '.join(keys)}; this environment has {', '.join(sorted(observation_space.spaces))}"
            )

    return check


def _check(family: str, observation_space: gym.spaces.Dict) -> None:
    check = _FAMILIES[family].check
    if check is not None:
        check(observation_space)

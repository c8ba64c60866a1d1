"""`@network("name")`: a policy's encoder from a function of the observation space."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps

import gymnasium as gym
from torch import nn

from bonuslab.algorithms.data.mistakes import named
from bonuslab.algorithms.networks.encoder import Encoder
from bonuslab.algorithms.networks.registry import AUTO, M, register_family
from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.origin import origin_of


def network(name: str, core_size: int = 256) -> Callable[[M], M]:
    """Register a function or class observation space -> `Encoder` as the network family `name`.

    `core_size` is the number of units of the policy's LSTM.
    """
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_-]*", name) or name == AUTO:
        raise InvalidInput(f'a network needs a lower-case name of its own, as in @network("wide"), not {name!r}')
    if not isinstance(core_size, int) or core_size < 1:
        raise InvalidInput(f"network {name!r}: core_size must be a positive integer, not {core_size!r}")

    def decorate(make: M) -> M:
        @wraps(make, updated=())
        def checked(observation_space: gym.spaces.Dict) -> Encoder:
            with named(f"network {name!r} ({origin_of(make).place})", make):
                encoder = make(observation_space)
            if not isinstance(encoder, nn.Module) or not isinstance(getattr(encoder, "output_size", None), int):
                raise InvalidInput(
                    f"network {name!r} ({origin_of(make).place}) must return an Encoder, a torch module with an "
                    f"integer `output_size`, not {type(encoder).__name__}"
                )
            return encoder

        register_family(name, core_size)(checked)
        return make

    return decorate

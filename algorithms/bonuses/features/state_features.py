"""What of a state is counted: a feature turns observations into 64-bit keys, one per state.

Equal features always get equal keys. Different features get different keys unless the hash collides: with n distinct
states the chance of any collision is about n² / 2⁶⁵, that is 3e-6 for ten million. Positions never collide, because
their two coordinates are mixed one-to-one.

A new environment adds features in its own file, under a new name or, as `pixel_features.py` does for `position`, under
a name that means the same elsewhere; the environment's observations decide which one is used.

    @state_feature("corner", "blstats")
    def corner(observations: Observations) -> Array:
        return observations["blstats"][:, :2] < 10
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import gymnasium as gym
import numpy as np

from bonuslab.algorithms.bonuses.memory.hashing import chain, hash_rows, hash_texts, pair_keys
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.data.mistakes import named
from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.envs.origin import check_owner, origin_of

Array = np.ndarray
Observations = Mapping[str, Array]
F = TypeVar("F", bound=Callable[[Observations], Any])


@dataclass(frozen=True)
class StateFeature:
    """A named function of a batch of observations."""

    name: str
    needs: tuple[str, ...]
    """Observation keys it reads; empty means all there are."""
    function: Callable[[Observations], Any]
    """{key: [B, ...]} -> [B] uint64 keys, or any array [B, ...] to be hashed."""
    check: Callable[[gym.spaces.Dict], object] | None = None
    """Raises `InvalidInput` for an observation space that has the keys but does not suit."""

    def keys(self, observations: Observations) -> Array:
        """{key: [B, ...]} -> [B] uint64."""
        size = len(next(iter(observations.values())))
        with named(f"state feature {self.name!r} ({origin_of(self.function).place})", self.function):
            values = np.asarray(self.function(observations))
        if values.dtype == object or values.ndim == 0 or len(values) != size:
            raise InvalidInput(
                f"state feature {self.name!r} ({origin_of(self.function).place}) must return one row per state, "
                f"[{size}, ...], not {values.dtype} {list(values.shape)}"
            )
        return values if values.dtype == np.uint64 and values.ndim == 1 else hash_rows(values)


_FEATURES: dict[tuple[str, tuple[str, ...]], StateFeature] = {}
"""By name and needs."""


def state_feature(name: str, *needs: str, check: Callable[[gym.spaces.Dict], object] | None = None) -> Callable[[F], F]:
    """Register the decorated function {key: [B, ...]} -> [B, ...] as the feature `name` of the observations `needs`.

    It returns [B] uint64 keys or any other array [B, ...], which is hashed. A row must depend on its own state alone.
    `check` raises `InvalidInput` for an observation space that does not suit.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise InvalidInput(f'a state feature needs a name, as in @feature("corner", "blstats"), not {name!r}')

    def decorate(function: F) -> F:
        for other in _named(name):
            earlier = other.function is not function and origin_of(other.function).same_as(origin_of(function))
            if other.needs == needs:
                check_owner("state feature", name, other.function, function)
            elif earlier:  # a cell that runs again with other needs leaves nothing behind
                del _FEATURES[name, other.needs]
        _FEATURES[name, needs] = StateFeature(name, needs, function, check)
        return function

    return decorate


def check_feature(name: str) -> None:
    """Refuse an unknown name, whatever the environment."""
    if not _named(name):
        raise unknown("state feature", name, {known for known, _ in _FEATURES})


def feature_of(name: str, space: gym.spaces.Dict) -> StateFeature:
    """The feature of this name whose observations the environment has."""
    check_feature(name)
    for feature in _named(name):
        if all(key in space.spaces for key in feature.needs):
            if feature.check is not None:
                try:
                    feature.check(space)
                except InvalidInput as error:
                    raise InvalidInput(f"state feature {name!r}: {error}") from error
            return feature
    needs = ", or ".join(" and ".join(map(repr, feature.needs)) for feature in _named(name))
    raise InvalidInput(
        f"state feature {name!r} needs the observation {needs}; "
        f"this environment shows {', '.join(sorted(space.spaces))}. The feature 'observation' suits every environment"
    )


def _named(name: str) -> list[StateFeature]:
    return [feature for feature in _FEATURES.values() if feature.name == name]


def fragment_keys(feature: StateFeature, fragment: Fragment) -> Array:
    """[(T + 1) N + F] uint64: keys of all states, rows as in `Fragment.states()`."""
    # How a state was reached is no part of it.
    wanted = feature.needs or tuple(key for key in fragment.observations if key != "previous_action")
    rows = {key: fragment.observations[key] for key in wanted}
    keys = feature.keys({key: part.reshape(-1, *part.shape[2:]) for key, part in rows.items()})
    if not len(fragment.final_index):
        return keys
    return np.concatenate([keys, feature.keys({key: fragment.finals[key] for key in wanted})])


@state_feature("position", "blstats")
def position(observations: Observations) -> Array:
    """The agent's position: x and y of the status line."""
    blstats = observations["blstats"]
    return pair_keys(blstats[:, 0], blstats[:, 1])


@state_feature("message", "message")
def message(observations: Observations) -> Array:
    """The text of the message; padding does not count."""
    return hash_texts(np.ascontiguousarray(observations["message"], dtype=np.uint8))


@state_feature("glyphs", "glyphs")
def glyphs(observations: Observations) -> Array:
    """The whole map."""
    return hash_rows(observations["glyphs"])


@state_feature("observation")
def observation(observations: Observations) -> Array:
    """The whole observation. NetHack's status line includes the turn number if the task shows it."""
    first, *others = sorted(observations)
    keys = hash_rows(observations[first])
    for name in others:
        keys = chain(keys, hash_rows(observations[name]))
    return keys

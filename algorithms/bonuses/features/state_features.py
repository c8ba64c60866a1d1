"""What of a state is counted: each feature turns observations into 64-bit keys, one a state.

Equal features always get equal keys. Different ones get different keys unless the hash collides: with n distinct
states the chance of any collision is about n² / 2⁶⁵, that is 3e-6 for ten million. Positions never collide, because
their two coordinates are mixed one-to-one.

A new environment adds its own feature in its own file, under a name of its own or, as `pixel_features.py` does for
`position`, under a name that means the same elsewhere; which one is meant depends on what the environment shows.

    @state_feature("room", "room")
    def room(observations: Observations) -> Array:
        return hash_rows(observations["room"])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import gymnasium as gym
import numpy as np

from bonuslab.algorithms.bonuses.memory.hashing import chain, hash_rows, hash_texts, pair_keys
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.envs.errors import InvalidInput, unknown

Array = np.ndarray
Observations = Mapping[str, Array]


@dataclass(frozen=True)
class StateFeature:
    """A named function from a batch of observations to 64-bit keys."""

    name: str
    needs: tuple[str, ...]
    """Observation keys it reads; none means that it takes whatever there is."""
    keys: Callable[[Observations], Array]
    """{key: [B, ...]} -> [B] uint64."""


_FEATURES: dict[str, list[StateFeature]] = {}


def state_feature(name: str, *needs: str) -> Callable[[Callable[[Observations], Array]], StateFeature]:
    """Make the decorated function {key: [B, ...]} -> [B] uint64 a feature that counts can use by `name`."""

    def decorate(keys: Callable[[Observations], Array]) -> StateFeature:
        known = _FEATURES.setdefault(name, [])
        same = [other for other in known if other.needs == needs]
        for other in same:
            if other.keys.__module__ != keys.__module__:
                raise ValueError(f"state feature {name!r} is taken by {other.keys.__module__}")
            known.remove(other)
        known.append(StateFeature(name, needs, keys))
        return known[-1]

    return decorate


def check_feature(name: str) -> None:
    """Refuse a name that no feature has, whatever the environment."""
    if name not in _FEATURES:
        raise unknown("state feature", name, _FEATURES)


def feature_of(name: str, space: gym.spaces.Dict) -> StateFeature:
    """The feature of this name that reads what the environment shows."""
    check_feature(name)
    for feature in _FEATURES[name]:
        if all(key in space.spaces for key in feature.needs):
            return feature
    needs = ", or ".join(" and ".join(map(repr, feature.needs)) for feature in _FEATURES[name])
    raise InvalidInput(
        f"state feature {name!r} needs the observation {needs}; "
        f"this environment shows {', '.join(sorted(space.spaces))}"
    )


def fragment_keys(feature: StateFeature, fragment: Fragment) -> Array:
    """[(T + 1) N + F] uint64: keys of all states, rows as in `Fragment.states()`."""
    wanted = feature.needs or tuple(fragment.observations)
    rows = {key: fragment.observations[key] for key in wanted}
    keys = feature.keys({key: part.reshape(-1, *part.shape[2:]) for key, part in rows.items()})
    if not len(fragment.final_index):
        return keys
    return np.concatenate([keys, feature.keys({key: fragment.finals[key] for key in wanted})])


@state_feature("position", "blstats")
def position(observations: Observations) -> Array:
    """Where the agent stands: x and y of the status line."""
    blstats = observations["blstats"]
    return pair_keys(blstats[:, 0], blstats[:, 1])


@state_feature("message", "message")
def message(observations: Observations) -> Array:
    """The message's text up to its end; blank ones are equal, however they are padded."""
    return hash_texts(np.ascontiguousarray(observations["message"], dtype=np.uint8))


@state_feature("glyphs", "glyphs")
def glyphs(observations: Observations) -> Array:
    """The whole map."""
    return hash_rows(observations["glyphs"])


@state_feature("observation")
def observation(observations: Observations) -> Array:
    """All that the agent sees. NetHack's status line holds the turn number where the task shows it."""
    first, *others = sorted(observations)
    keys = hash_rows(observations[first])
    for name in others:
        keys = chain(keys, hash_rows(observations[name]))
    return keys

"""Features of pixel environments: rooms and positions in Montezuma's Revenge, glimpses in Habitat."""

from __future__ import annotations

import numpy as np

from bonuslab.algorithms.bonuses.features.state_features import Array, Observations, state_feature
from bonuslab.algorithms.bonuses.memory.hashing import chain, hash_rows, pair_keys

GLIMPSE_STEP = 1000
"""A glimpse is every thousandth value of the images (paper, appendix Habitat: NovelD's counts)."""


@state_feature("room", "room")
def room(observations: Observations) -> Array:
    """The room the agent is in."""
    return hash_rows(observations["room"])


@state_feature("position", "room", "position")
def position(observations: Observations) -> Array:
    """The agent's position: the room, and x and y within it."""
    place = observations["position"].astype(np.int64)
    return pair_keys(observations["room"][:, 0], place[:, 0] * 256 + place[:, 1])


@state_feature("glimpse", "rgb", "depth", "gps", "compass")
def glimpse(observations: Observations) -> Array:
    """Every thousandth value of the images, and where they were taken."""
    keys = hash_rows(observations["gps"])
    keys = chain(keys, hash_rows(observations["compass"]))
    for name in ("rgb", "depth"):
        pixels = observations[name].reshape(len(keys), -1)
        keys = chain(keys, hash_rows(np.ascontiguousarray(pixels[:, ::GLIMPSE_STEP])))
    return keys

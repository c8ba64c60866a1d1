"""Environments by name: the lanes that a name and a few settings stand for."""

from __future__ import annotations

from typing import Any

from bonuslab.envs.lanes import Lanes
from bonuslab.envs.minihack import MiniHackLanes


def make_lanes(name: str, num_lanes: int, **settings: Any) -> Lanes:
    """N lanes of the environment called `name`; a bad name or setting raises `InvalidInput`."""
    return MiniHackLanes(name, num_lanes, **settings)

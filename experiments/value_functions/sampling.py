"""Samples of contexts: how many to take, and the value functions found in them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from bonuslab.envs.minihack import Task
from bonuslab.experiments.value_functions.driven_play import Sightings
from bonuslab.experiments.value_functions.floor_plan import FloorPlan

FEATURES: Final = ("position", "message")


@dataclass(frozen=True)
class Effort:
    """How much to sample."""

    known_contexts: int
    """For tasks whose maps are known without playing."""
    solved_contexts: int
    """The first of these are also solved with doors to open, which takes thirty times as long as walks alone."""
    played_contexts: int
    """For tasks whose levels must be explored first, and for messages in all tasks."""
    steps: int
    """Environment steps in each played context; the last episode is completed."""


FULL: Final = Effort(known_contexts=1000, solved_contexts=200, played_contexts=60, steps=12_000)
QUICK: Final = Effort(known_contexts=200, solved_contexts=40, played_contexts=16, steps=4_000)


@dataclass(frozen=True)
class Coverage:
    """How much of the game was covered where values come from playing it."""

    episodes: int
    steps: int
    tried: float
    """Fraction of (state, action) pairs tried, averaged over contexts."""
    late_share: float
    """Fraction of a context's messages first seen in the second half of its episodes, averaged over contexts."""

    @classmethod
    def of(cls, sightings: Sequence[Sightings]) -> Coverage:
        """Over all contexts."""
        return cls(
            episodes=sum(one.episodes for one in sightings),
            steps=sum(one.steps for one in sightings),
            tried=float(np.mean([one.tried for one in sightings])),
            late_share=float(np.mean([one.late_share for one in sightings])),
        )


@dataclass(frozen=True)
class Sample:
    """The value functions of sampled contexts, and how they were found."""

    task: Task
    feature: str
    how: str
    contexts: Sequence[int]
    values: np.ndarray
    """[n, |Z|]."""
    names: Sequence[str] = ()
    """The messages, in the order of Z; empty for positions, whose Z is the 21 × 79 map, row by row."""
    plans: Sequence[FloorPlan] = ()
    """Of the same contexts, if the feature is the position and levels have plans."""
    left_out: int = 0
    """Contexts whose level could not be mapped, or that were never won."""
    coverage: Coverage | None = None
    """None if nothing was played."""
    readings: Mapping[str, np.ndarray] = field(default_factory=dict)
    """`values` under other readings of V*_ψ, by name."""


JOINED: Final = "greeting and inventory letters the same in all contexts"
_GREETING: Final = re.compile(r"^(Hello Agent, welcome|Be careful!|You are lucky!|Watch out!).*")
_LETTER: Final = re.compile(r"^[a-zA-Z] - ")


def message_table(sightings: Sequence[Sightings]) -> tuple[list[str], np.ndarray]:
    """Messages and their values [n, |Z|]; 0 for messages that a context does not have."""
    return _table([one.lowest for one in sightings])


def joined_messages(sightings: Sequence[Sightings]) -> np.ndarray:
    """[n, |Z|] without what does not depend on the level: the moon's greeting and inventory letters."""
    functions = []
    for one in sightings:
        joined: dict[str, float] = {}
        for message, value in one.lowest.items():
            name = _LETTER.sub("- ", _GREETING.sub("greeting", message))
            joined[name] = min(value, joined.get(name, np.inf))
        functions.append(joined)
    return _table(functions)[1]


def _table(functions: Sequence[Mapping[str, float]]) -> tuple[list[str], np.ndarray]:
    names = sorted(set().union(*functions))
    return names, np.array([[one.get(name, 0.0) for name in names] for one in functions])

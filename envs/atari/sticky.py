"""Sticky actions: the previous action is sometimes repeated, so that no fixed action sequence always works."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from bonuslab.envs.atari.game import FRAME_SKIP
from bonuslab.envs.errors import InvalidInput, unknown

StickyKind = Literal["frame", "step"]
STICKY_PROBABILITY = 0.25
"""Paper, table: ActionProb."""
_KINDS = ("frame", "step")


class StickyActions:
    """Turns the action of a step into the actions of its four frames.

    `frame` draws before each of the four frames, as ALE (Machado et al., 2018) and RND's authors do. `step` draws once
    for all four, as does the code that the paper builds on. Both repeat the action that was actually executed last;
    episodes start with NOOP.
    """

    def __init__(self, kind: StickyKind, probability: float, seed: Sequence[int]) -> None:
        if kind not in _KINDS:
            raise unknown("kind of sticky actions", kind, _KINDS)
        if isinstance(probability, bool) or not isinstance(probability, int | float) or not 0 <= probability < 1:
            raise InvalidInput(f"sticky_probability {probability!r} cannot be used; allowed: numbers from 0, below 1")
        self._draws = FRAME_SKIP if kind == "frame" else 1
        self._probability = probability
        self._random = np.random.Generator(np.random.PCG64(seed))
        self._last = 0

    def start(self) -> None:
        """Start an episode."""
        self._last = 0

    def actions(self, action: int) -> list[int]:
        """[4]: the executed actions when the agent chooses `action`."""
        executed = []
        for draw in self._random.random(self._draws).tolist():
            if draw >= self._probability:
                self._last = action
            executed.append(self._last)
        return executed * (FRAME_SKIP // self._draws)

    def get_state(self) -> dict[str, Any]:
        """State from which `set_state` continues the same draws."""
        return {"random": self._random.bit_generator.state, "last": self._last}

    def set_state(self, state: dict[str, Any]) -> None:
        """Resume from `get_state`."""
        self._random.bit_generator.state = state["random"]
        self._last = state["last"]

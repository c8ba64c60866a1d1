"""One episode after another in one game: sticky actions, points, the step limit, and the rooms visited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.montezuma.game import NUM_ROOMS, Game
from bonuslab.envs.montezuma.sticky import STICKY_PROBABILITY, StickyActions, StickyKind

EndStatus = Literal["running", "game_over", "step_limit"]
MAX_STEPS = 4500
"""Actions an episode lasts for at most, 18,000 screens (paper, table: Max Step Per Episode)."""


@dataclass(frozen=True)
class Rules:
    """How the game is played."""

    max_steps: int = MAX_STEPS
    """Actions of the agent, each four screens long."""
    sticky: StickyKind = "frame"
    """When the last action may be repeated; see `StickyActions`."""
    sticky_probability: float = STICKY_PROBABILITY
    """Of repeating the last action."""

    def __post_init__(self) -> None:
        limit = self.max_steps
        if isinstance(limit, bool) or not isinstance(limit, int | np.integer) or limit < 1:
            raise InvalidInput(f"max_steps {limit!r} cannot be used; allowed: whole numbers from 1")
        StickyActions(self.sticky, self.sticky_probability, [0])


class Episode:
    """Plays a game by its rules. `begin` starts an episode, `step` takes an action."""

    def __init__(self, rules: Rules, seed: Sequence[int], observation: dict[str, np.ndarray]) -> None:
        """Episodes that show what happens in the arrays of `observation`; `seed` decides which actions stick."""
        self.rules = rules
        self.observation = observation
        self.game = Game(observation["frames"])
        self.reseed(seed)
        self.status: EndStatus | None = None
        """None before the first episode."""
        self.length = 0
        self.points = 0
        """The game's points so far."""
        self.rooms: set[int] = set()
        """Numbers of the rooms visited."""

    def reseed(self, seed: Sequence[int]) -> None:
        """Restart the random numbers of the sticky actions."""
        self.sticky = StickyActions(self.rules.sticky, self.rules.sticky_probability, seed)

    def begin(self) -> None:
        """Start a new episode."""
        self.game.start()
        self.sticky.start()
        self.length, self.points, self.rooms = 0, 0, set()
        self.status = "running"
        self._look()

    def step(self, action: int) -> float:
        """Take an action and return the points it gave; `status` then says whether and how the episode ended."""
        points = self.game.play(self.sticky.actions(action))
        self.length += 1
        self.points += points
        self._look()
        if self.game.is_over:
            self.status = "game_over"
        elif self.length >= self.rules.max_steps:
            self.status = "step_limit"
        return float(points)

    def metrics(self) -> dict[str, float]:
        """Numbers for results: rooms visited in this episode, and the pyramid reached (0 is the first)."""
        return {"rooms": float(len(self.rooms)), "level": float(self.game.level)}

    def get_state(self) -> dict[str, Any]:
        """Everything `set_state` needs to go on exactly."""
        return {
            "game": None if self.status is None else self.game.get_state(),
            "sticky": self.sticky.get_state(),
            "status": self.status,
            "length": self.length,
            "points": self.points,
            "rooms": sorted(self.rooms),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """The inverse of `get_state`."""
        self.sticky.set_state(state["sticky"])
        self.status, self.length, self.points = state["status"], state["length"], state["points"]
        if state["game"] is not None:
            self.game.set_state(state["game"])
            self._look()
        self.rooms = set(state["rooms"])

    def _look(self) -> None:
        room = self.game.room
        self.observation["room"][0] = room
        self.observation["position"][:] = self.game.position
        if room < NUM_ROOMS:
            self.rooms.add(room)

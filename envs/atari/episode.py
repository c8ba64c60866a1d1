"""The episodes of one game: sticky actions, points, step limit and, where there are any, rooms visited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bonuslab.envs.atari.game import AtariGame, game_actions
from bonuslab.envs.atari.games import Game
from bonuslab.envs.atari.seeds import CONTEXT
from bonuslab.envs.atari.sticky import STICKY_PROBABILITY, StickyActions, StickyKind
from bonuslab.envs.errors import check_integer

EndStatus = Literal["running", "game_over", "step_limit"]
MAX_STEPS = 4500
"""Step limit of an episode, 18,000 frames (paper, table: Max Step Per Episode); ALE's own is 27,000."""


@dataclass(frozen=True)
class Rules:
    """How the game is played."""

    max_steps: int = MAX_STEPS
    """Agent steps, of four frames each."""
    sticky: StickyKind = "frame"
    """When the previous action may be repeated; see `StickyActions`."""
    sticky_probability: float = STICKY_PROBABILITY
    """Of repeating the previous action."""

    def __post_init__(self) -> None:
        check_integer("max_steps", self.max_steps, 1)
        StickyActions(self.sticky, self.sticky_probability, [0])  # validates both


class AtariEpisode:
    """Plays the episodes of one game. `begin` starts an episode, `step` takes an action."""

    def __init__(self, game: Game, rules: Rules, seed: Sequence[int], observation: dict[str, np.ndarray]) -> None:
        """Writes into the arrays of `observation`; `seed` determines which actions stick."""
        self.rules = rules
        self.observation = observation
        self.game = AtariGame(game, observation["frames"])
        self._actions = tuple(game_actions(game).values())
        self._memory = game.memory
        self.reseed(seed)
        self.status: EndStatus | None = None
        """None before the first episode."""
        self.length = 0
        self.points = 0
        """Scored so far."""
        self.rooms: set[int] = set()
        """Rooms visited; stays empty in games whose memory is not known."""

    @property
    def context(self) -> int | None:
        """The only context there is; None before the first episode."""
        return None if self.status is None else CONTEXT

    def close(self) -> None:
        """Nothing to release."""

    def reseed(self, seed: Sequence[int]) -> None:
        """Restart the random numbers of the sticky actions."""
        self.sticky = StickyActions(self.rules.sticky, self.rules.sticky_probability, seed)

    def begin(self) -> None:
        """Start a new episode."""
        self.game.start()
        self.sticky.start()
        self.length, self.points, self.rooms = 0, 0, set()
        self.status = "running"
        self._observe()

    def step(self, action: int) -> float:
        """Take an action and return the points scored; `status` then tells whether and how the episode ended."""
        points = self.game.play(self.sticky.actions(self._actions[action]))
        self.length += 1
        self.points += points
        self._observe()
        if self.game.is_over:
            self.status = "game_over"
        elif self.length >= self.rules.max_steps:
            self.status = "step_limit"
        return float(points)

    def metrics(self) -> dict[str, float]:
        """Rooms visited in this episode, and the level reached (0 is the first); empty in most games."""
        if self._memory is None:
            return {}
        return {"rooms": float(len(self.rooms)), "level": float(self.game.memory[self._memory.level])}

    def get_state(self) -> dict[str, Any]:
        """State from which `set_state` resumes exactly."""
        return {
            "game": None if self.status is None else self.game.get_state(),
            "sticky": self.sticky.get_state(),
            "status": self.status,
            "length": self.length,
            "points": self.points,
            "rooms": sorted(self.rooms),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Resume from `get_state`."""
        self.sticky.set_state(state["sticky"])
        self.status, self.length, self.points = state["status"], state["length"], state["points"]
        if state["game"] is not None:
            self.game.set_state(state["game"])
            self._observe()
        self.rooms = set(state["rooms"])

    def _observe(self) -> None:
        if self._memory is None:
            return
        room = int(self.game.memory[self._memory.room])
        self.observation["room"][0] = room
        self.observation["position"][:] = self._memory.position(self.game.memory)
        if room < self._memory.num_rooms:
            self.rooms.add(room)

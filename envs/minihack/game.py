"""A NetHack game that plays any level, with only the buffers that MiniHack's tasks use.

NLE's own Python classes fill seventeen buffers and copy them twice per step; this fills five and copies none.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Final

import numpy as np
from nle import _pynethack
from nle.nethack.nethack import OBSERVATION_DESC

from bonuslab.envs.minihack.gamedir import GameDirectory, new_game_directory
from bonuslab.envs.minihack.reloading import ReloadingNetHack
from bonuslab.envs.minihack.resident import ResidentNetHack, can_stay_resident

OBSERVATION_KEYS: Final = ("glyphs", "blstats", "message")
"""What agents see."""
_STATE_KEYS: Final = ("program_state", "internal")
_INVENTORY_KEYS: Final = ("inv_glyphs", "inv_letters")

_SPACE: Final = ord(" ")
_ESCAPE: Final = 27

# Indices into NLE's buffers.
_IN_MOVE_LOOP: Final = 3  # program_state
_ASKS_KEY, _ASKS_LINE, _WAITS_FOR_SPACE, _ON_STAIRS_DOWN = 1, 2, 3, 4  # internal
_DONE, _HOW_DONE = 1, 3  # status
TIME: Final = _pynethack.nethack.NLE_BL_TIME
"""Index of the game's clock in blstats."""
_PANICKED: Final = int(_pynethack.nethack.PANICKED)

_AGENT_QUESTIONS: Final = (b"eat", b"attack", b"direction?", b"pray")
_MAX_OPENING_SCREENS: Final = 1000

# MiniHack's options; the order does not matter to the game.
_OPTIONS: Final = (
    "color",
    "showexp",
    "nobones",
    "nolegacy",
    "nocmdassist",
    "disclose:+i +a +v +g +c +o",
    "runmode:teleport",
    "mention_walls",
    "nosparkle",
    "showscore",
    "pettype:none",
)


def observation_buffers(*lead: int) -> dict[str, np.ndarray]:
    """Zeroed observations with leading dimensions `lead` (none, or the number of envs)."""
    return {
        key: np.zeros(lead + OBSERVATION_DESC[key]["shape"], OBSERVATION_DESC[key]["dtype"]) for key in OBSERVATION_KEYS
    }


class NetHackGame:
    """A NetHack game that can be restarted any number of times, on any level."""

    def __init__(
        self,
        character: str,
        *,
        autopickup: bool,
        answers_questions: bool,
        inventory: bool = False,
        buffers: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        """A game of `character` that writes its observations into `buffers`, or into new arrays if None.

        With `answers_questions`, every single-key question reaches the agent; otherwise most are declined.
        With `inventory`, the game fills `inv_glyphs` and `inv_letters` too.
        """
        self.observation = dict(buffers) if buffers is not None else observation_buffers()
        more = _STATE_KEYS + (_INVENTORY_KEYS if inventory else ())
        state = {key: np.zeros(**OBSERVATION_DESC[key]) for key in more}
        self.inventory = (state["inv_glyphs"], state["inv_letters"]) if inventory else None
        self.glyphs, self.blstats, self.message = (self.observation[key] for key in OBSERVATION_KEYS)
        self._answers_questions = answers_questions
        self._program_state = state["program_state"].data
        self._internal = state["internal"].data
        self._directory = new_game_directory()
        options = [*_OPTIONS, f"name:Agent-{character}"] + ([] if autopickup else ["!autopickup"])
        nethack = ResidentNetHack if can_stay_resident() else ReloadingNetHack
        self._nethack = nethack(self._directory.path, ",".join(options), {**self.observation, **state})
        self._press = self._nethack.step
        self._status = self._nethack.status
        # Runs at interpreter exit at the latest, while everything it needs still exists.
        self._close = weakref.finalize(self, _close, self._nethack, self._directory)

    def start(self, level: bytes, core_seed: int, display_seed: int) -> None:
        """Start a new game on `level`; level and seeds determine everything that follows."""
        self._directory.prepare(level)
        self._nethack.start(core_seed, display_seed)
        for _ in range(_MAX_OPENING_SCREENS):
            if self._program_state[_IN_MOVE_LOOP]:
                return
            self._press(_SPACE)
        raise RuntimeError("NetHack keeps showing opening screens")

    def press(self, key: int) -> None:
        """Send one key and nothing else."""
        self._press(key)

    def play(self, key: int) -> None:
        """Send one key, then dismiss whatever needs no decision by the agent. Does nothing once the game is over."""
        if self._status[_DONE]:
            return
        self._press(key)
        internal = self._internal
        if internal[_WAITS_FOR_SPACE] or internal[_ASKS_LINE] or internal[_ASKS_KEY]:
            self.settle()

    def settle(self) -> None:
        """Dismiss screens that wait for a key, escape text prompts, decline questions not meant for the agent."""
        internal = self._internal
        while not self._status[_DONE]:
            if internal[_WAITS_FOR_SPACE]:
                self._press(_SPACE)
            elif internal[_ASKS_LINE]:
                self._press(_ESCAPE)
            else:
                if internal[_ASKS_KEY] and not self._is_for_the_agent():
                    self._press(_ESCAPE)
                return

    def _is_for_the_agent(self) -> bool:
        if self._answers_questions:
            return True
        message = self.message.tobytes()
        return any(text in message for text in _AGENT_QUESTIONS)

    @property
    def is_over(self) -> bool:
        """Whether the game itself has ended, for example by the agent's death."""
        return bool(self._status[_DONE])

    @property
    def agent_died(self) -> bool:
        """Whether a finished game ended by the agent's death, and not, for example, by a panic."""
        return self._status[_HOW_DONE] < _PANICKED

    @property
    def on_stairs_down(self) -> bool:
        """Whether the agent stands on stairs down."""
        return bool(self._internal[_ON_STAIRS_DOWN])

    def close(self) -> None:
        """End the game and release its memory and directory; idempotent."""
        self._close()


def _close(nethack: ResidentNetHack | ReloadingNetHack, directory: GameDirectory) -> None:
    nethack.close()
    directory.remove()

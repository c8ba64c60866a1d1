"""Montezuma's Revenge in ALE's emulator: actions in; frames, points, room and position out.

ALE's C++ `AtariVectorEnv` exposes neither the console's memory, which holds the room number, nor its state, without
which a run cannot resume exactly; hence one `ALEInterface` per env. ALE's own sticky actions stay off, because the
state it saves lacks the action to repeat; without them the emulator is deterministic. For ours, see `sticky.py`.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import ale_py
import numpy as np
from ale_py import roms

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.montezuma.frames import SCREEN, shrink

NAME: Final = "MontezumaRevenge"
ROM: Final = "montezuma_revenge"
FRAME_SKIP: Final = 4
"""Emulator frames per action (RND; the paper's 4,500 steps are 18,000 frames)."""
NUM_ROOMS: Final = 24
"""Rooms per level, numbered alike on every level."""
# Addresses in the console's 128 bytes of memory.
_ROOM, _X, _Y, _LEVEL = 3, 42, 43, 57


class MontezumaGame:
    """An emulator that runs Montezuma's Revenge and writes its last four frames into `frames`."""

    def __init__(self, frames: np.ndarray) -> None:
        """`frames` is [4, 84, 84]; call `start` first."""
        self.frames = frames
        self._ale = _emulator()
        self._before, self._last = np.empty(SCREEN, np.uint8), np.empty(SCREEN, np.uint8)
        self._ram = np.empty(128, np.uint8)
        self._start: ale_py.ALEState | None = None
        self._start_frame = np.empty(frames.shape[1:], np.uint8)
        self._start_picture = b""
        self._picture: bytes | None = None  # the screen, compressed, where the emulator does not restore it

    @property
    def room(self) -> int:
        """The room the agent is in."""
        return int(self._ram[_ROOM])

    @property
    def position(self) -> tuple[int, int]:
        """x and y within the room, in the game's own units; y points up."""
        return int(self._ram[_X]), int(self._ram[_Y])

    @property
    def level(self) -> int:
        """The pyramid's level, from 0."""
        return int(self._ram[_LEVEL])

    @property
    def lives(self) -> int:
        """Lives left."""
        return int(self._ale.lives())

    @property
    def is_over(self) -> bool:
        """Whether the last life is lost."""
        return bool(self._ale.game_over())

    def start(self) -> None:
        """Start a new game. All games start alike, so all but the first restore a saved state."""
        if self._start is None:
            self._ale.reset_game()
            self._ale.getScreenGrayscale(self._last)
            shrink(self._last, self._last, self._start_frame)
            self._start = self._ale.cloneState(include_rng=True)
            self._start_picture = zlib.compress(self._ale.getScreenRGB().tobytes(), 1)
        else:
            self._ale.restoreState(self._start)
        self._picture = self._start_picture
        self.frames[:] = self._start_frame
        self._ale.getRAM(self._ram)

    def play(self, actions: Sequence[int]) -> int:
        """Emulate one frame per action, add the maximum of the last two to `frames`, and return the points scored."""
        ale = self._ale
        points = 0
        for left, action in zip(range(len(actions) - 1, -1, -1), actions, strict=True):
            points += ale.act(action)
            if ale.game_over():
                ale.getScreenGrayscale(self._last)
                if left:  # the previous screen was not read: use the last one for both
                    self._before[:] = self._last
                break
            if left < 2:
                ale.getScreenGrayscale(self._before if left else self._last)
        ale.getRAM(self._ram)
        self._picture = None
        self.frames[:-1] = self.frames[1:]
        shrink(self._before, self._last, self.frames[-1])
        return int(points)

    def picture(self) -> np.ndarray:
        """[210, 160, 3] uint8: the screen in colour."""
        if self._picture is not None:
            return np.frombuffer(zlib.decompress(self._picture), np.uint8).reshape(*SCREEN, 3).copy()
        return self._ale.getScreenRGB()

    def get_state(self) -> dict[str, Any]:
        """Emulator and frames, compressed: about 10 kB."""
        picture = self._picture or zlib.compress(self._ale.getScreenRGB().tobytes(), 1)
        return {
            "emulator": zlib.compress(self._ale.cloneState(include_rng=True).serialize(), 1),
            "frames": zlib.compress(self.frames.tobytes(), 1),
            "picture": picture,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Resume exactly from `get_state`."""
        self._ale.restoreState(ale_py.ALEState(zlib.decompress(state["emulator"])))
        self.frames[:] = np.frombuffer(zlib.decompress(state["frames"]), np.uint8).reshape(self.frames.shape)
        self._picture = state["picture"]
        self._ale.getRAM(self._ram)


@lru_cache(maxsize=1)
def action_names() -> tuple[str, ...]:
    """ALE's names of the 18 actions: NOOP, FIRE, UP, …"""
    return tuple(action.name for action in sorted(ale_py.Action.__members__.values(), key=lambda action: action.value))


def _emulator() -> ale_py.ALEInterface:
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    path = roms.get_rom_path(ROM)
    if path is None:
        raise InvalidInput(f"ale-py has no ROM {ROM!r}; reinstall ale-py 0.12.1, which includes it")
    ale = ale_py.ALEInterface()
    ale.setFloat("repeat_action_probability", 0.0)
    ale.loadROM(path)
    return ale

"""A game in ALE's emulator: actions in; frames, points and memory out.

ALE's C++ `AtariVectorEnv` exposes neither the console's memory, which may hold a room number, nor its state, without
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

from bonuslab.envs.atari.frames import shrink
from bonuslab.envs.atari.games import Game
from bonuslab.envs.errors import InvalidInput

FRAME_SKIP: Final = 4
"""Emulator frames per action (RND; the paper's 4,500 steps are 18,000 frames)."""
_NOOP = 0


class AtariGame:
    """An emulator that runs a game and writes its last four frames into `frames`."""

    def __init__(self, game: Game, frames: np.ndarray) -> None:
        """`frames` is [4, 84, 84]; call `start` first."""
        self.frames = frames
        self._ale = _emulator(game)
        self._screen = self._ale.getScreenDims()
        self._before, self._last = np.empty(self._screen, np.uint8), np.empty(self._screen, np.uint8)
        self.memory = np.empty(128, np.uint8)
        """The console's, [128]."""
        self._start: ale_py.ALEState | None = None
        self._start_frame = np.empty(frames.shape[1:], np.uint8)
        self._start_picture = b""
        self._picture: bytes | None = None  # the screen, compressed, where the emulator does not restore it

    @property
    def lives(self) -> int:
        """Lives left; 0 in games without lives."""
        return int(self._ale.lives())

    @property
    def is_over(self) -> bool:
        """Whether the last life is lost, or the game ended otherwise."""
        return bool(self._ale.game_over())

    def start(self) -> None:
        """Start a new game. ALE's reset leaves traces of the last game in some, so each restores the first start."""
        self._ale.restoreState(self._booted())
        self._picture = self._start_picture
        self.frames[:] = self._start_frame
        self._ale.getRAM(self.memory)

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
        ale.getRAM(self.memory)
        self._picture = None
        self.frames[:-1] = self.frames[1:]
        shrink(self._before, self._last, self.frames[-1])
        return int(points)

    def picture(self) -> np.ndarray:
        """[210, 160, 3] uint8 in most games: the screen in colour."""
        if self._picture is not None:
            return np.frombuffer(zlib.decompress(self._picture), np.uint8).reshape(*self._screen, 3).copy()
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
        self._booted()
        self._ale.restoreState(ale_py.ALEState(zlib.decompress(state["emulator"])))
        self.frames[:] = np.frombuffer(zlib.decompress(state["frames"]), np.uint8).reshape(self.frames.shape)
        self._picture = state["picture"]
        self._ale.getRAM(self.memory)

    def _booted(self) -> ale_py.ALEState:
        """The state in which every game starts; resets the emulator the first time."""
        if self._start is not None:
            return self._start
        self._ale.reset_game()
        self._ale.getScreenGrayscale(self._last)
        shrink(self._last, self._last, self._start_frame)
        self._start = self._ale.cloneState(include_rng=True)
        self._start_picture = zlib.compress(self._ale.getScreenRGB().tobytes(), 1)
        # States omit something that the first frame after a reset changes: without it, Qbert and Tetris would play
        # differently after their first start than after a restored one.
        self._ale.act(_NOOP)
        return self._start


@lru_cache(maxsize=128)
def game_actions(game: Game) -> dict[str, int]:
    """The actions that have an effect in the game (ALE's minimal set) by name, as ALE numbers them."""
    return {action.name: int(action.value) for action in _emulator(game).getMinimalActionSet()}


def _emulator(game: Game) -> ale_py.ALEInterface:
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    path = roms.get_rom_path(game.rom)
    if path is None or not path.is_file():
        raise InvalidInput(f"ale-py has no ROM of {game.name}; reinstall ale-py, which includes it")
    ale = ale_py.ALEInterface()
    ale.setFloat("repeat_action_probability", 0.0)
    ale.loadROM(path)
    return ale

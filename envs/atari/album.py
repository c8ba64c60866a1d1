"""Pictures of Atari games: the screen, in Montezuma's Revenge next to a map of the rooms visited."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from PIL import Image

from bonuslab.envs.atari.env import AtariEnv
from bonuslab.envs.atari.memory import MONTEZUMA
from bonuslab.envs.atari.pyramid import draw_pyramid
from bonuslab.envs.caption import captioned

_SCREEN_SCALE = 2
_MAP_WIDTH = 560


class _RoomsSnapshot(NamedTuple):
    room: int
    visited: frozenset[int]


class _ScreenSnapshot(NamedTuple):
    screen: bytes
    """Compressed, since an episode may have 4,500."""
    shape: tuple[int, ...]
    step: int
    rooms: _RoomsSnapshot | None
    """Only of Montezuma's Revenge."""


class AtariAlbum:
    """See `envs.family.Album`."""

    steps_per_frame = 4
    colours = np.zeros((0, 3), np.uint8)
    has_more_colours = True

    def __init__(self) -> None:
        self._snapshots: list[_ScreenSnapshot] = []

    def add(self, observation: dict[str, np.ndarray], env: AtariEnv) -> str:
        """Record the screen and the rooms visited so far."""
        screen = env.screen()
        rooms = _RoomsSnapshot(int(observation["room"][0]), env.rooms) if env.game.rom == MONTEZUMA else None
        self._snapshots.append(_ScreenSnapshot(zlib.compress(screen.tobytes(), 1), screen.shape, env.length, rooms))
        lives = f"{env.lives} {'life' if env.lives == 1 else 'lives'}"
        if rooms is None:
            return lives if env.lives else ""  # some games have none
        count = len(rooms.visited)
        return f"room {rooms.room}   {count} {'room' if count == 1 else 'rooms'} visited   {lives}"

    def pictures(self, captions: Sequence[tuple[int, str]]) -> Iterator[np.ndarray]:
        """Screen, map and caption."""
        for number, caption in captions:
            yield captioned(_picture(self._snapshots[number]), caption)

    def summary(self, caption: str) -> np.ndarray:
        """The last screen, or the map of rooms with a screenshot of each visited room."""
        last = self._snapshots[-1]
        if last.rooms is None:
            return captioned(_picture(last), caption)
        first = max(number for number, snapshot in enumerate(self._snapshots) if snapshot.step == 0)
        screens: dict[int, np.ndarray] = {}
        for snapshot in self._snapshots[first:]:
            screen = _screen(snapshot)
            assert snapshot.rooms is not None
            room = snapshot.rooms.room
            # The screen is dark while the agent enters a room or dies.
            if room not in screens or screen.mean() > screens[room].mean():
                screens[room] = screen
        return captioned(draw_pyramid(last.rooms.visited, screens), caption)

    def text(self, snapshot: int, width: int, colour: bool) -> list[str]:
        """Empty: text cannot show a screen."""
        return []


def _picture(snapshot: _ScreenSnapshot) -> np.ndarray:
    screen = _screen(snapshot).repeat(_SCREEN_SCALE, axis=0).repeat(_SCREEN_SCALE, axis=1)
    if snapshot.rooms is None:
        return screen
    rooms = _small_map(snapshot.rooms.visited)
    picture = np.zeros((screen.shape[0], screen.shape[1] + rooms.shape[1], 3), np.uint8)
    picture[:, : screen.shape[1]] = screen
    top = (screen.shape[0] - rooms.shape[0]) // 2
    picture[top : top + rooms.shape[0], screen.shape[1] :] = rooms
    return picture


def _screen(snapshot: _ScreenSnapshot) -> np.ndarray:
    return np.frombuffer(zlib.decompress(snapshot.screen), np.uint8).reshape(snapshot.shape)


@lru_cache(maxsize=64)
def _small_map(rooms: frozenset[int]) -> np.ndarray:
    picture = Image.fromarray(draw_pyramid(rooms))
    return np.asarray(picture.resize((_MAP_WIDTH, picture.height * _MAP_WIDTH // picture.width)))

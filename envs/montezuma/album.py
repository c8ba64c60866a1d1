"""Pictures of Montezuma's Revenge: the screen next to a map of the rooms visited."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from PIL import Image

from bonuslab.envs.caption import captioned
from bonuslab.envs.montezuma.env import MontezumaEnv
from bonuslab.envs.montezuma.frames import SCREEN
from bonuslab.envs.montezuma.pyramid import draw_pyramid

_SCREEN_SCALE = 2
_MAP_WIDTH = 560


class _ScreenSnapshot(NamedTuple):
    screen: bytes
    """Compressed, since an episode may have 4,500."""
    room: int
    rooms: frozenset[int]
    step: int


class MontezumaAlbum:
    """See `envs.family.Album`."""

    steps_per_frame = 4
    colours = np.zeros((0, 3), np.uint8)
    has_more_colours = True

    def __init__(self) -> None:
        self._snapshots: list[_ScreenSnapshot] = []

    def add(self, observation: dict[str, np.ndarray], env: MontezumaEnv) -> str:
        """Record the screen and the rooms visited so far."""
        screen = zlib.compress(env.screen().tobytes(), 1)
        room = int(observation["room"][0])
        self._snapshots.append(_ScreenSnapshot(screen, room, env.rooms, env.length))
        count = len(env.rooms)
        return f"room {room}   {count} {'room' if count == 1 else 'rooms'} visited   {env.lives} lives"

    def pictures(self, captions: Sequence[tuple[int, str]]) -> Iterator[np.ndarray]:
        """Screen, map and caption."""
        for number, caption in captions:
            snapshot = self._snapshots[number]
            screen = _screen(snapshot).repeat(_SCREEN_SCALE, axis=0).repeat(_SCREEN_SCALE, axis=1)
            rooms = _small_map(snapshot.rooms)
            picture = np.zeros((screen.shape[0], screen.shape[1] + rooms.shape[1], 3), np.uint8)
            picture[:, : screen.shape[1]] = screen
            top = (screen.shape[0] - rooms.shape[0]) // 2
            picture[top : top + rooms.shape[0], screen.shape[1] :] = rooms
            yield captioned(picture, caption)

    def summary(self, caption: str) -> np.ndarray:
        """The map of rooms with a screenshot of each visited room."""
        first = max(number for number, snapshot in enumerate(self._snapshots) if snapshot.step == 0)
        screens: dict[int, np.ndarray] = {}
        for snapshot in self._snapshots[first:]:
            screen = _screen(snapshot)
            # The screen is dark while the agent enters a room or dies.
            if snapshot.room not in screens or screen.mean() > screens[snapshot.room].mean():
                screens[snapshot.room] = screen
        return captioned(draw_pyramid(self._snapshots[-1].rooms, screens), caption)

    def text(self, snapshot: int, width: int, colour: bool) -> list[str]:
        """Empty: text cannot show a screen."""
        return []


def _screen(snapshot: _ScreenSnapshot) -> np.ndarray:
    return np.frombuffer(zlib.decompress(snapshot.screen), np.uint8).reshape(*SCREEN, 3)


@lru_cache(maxsize=64)
def _small_map(rooms: frozenset[int]) -> np.ndarray:
    picture = Image.fromarray(draw_pyramid(rooms))
    return np.asarray(picture.resize((_MAP_WIDTH, picture.height * _MAP_WIDTH // picture.width)))

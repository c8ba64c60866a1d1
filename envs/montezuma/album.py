"""Pictures of Montezuma's Revenge: the screen beside the map of the rooms visited."""

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


class _Moment(NamedTuple):
    screen: bytes
    """Compressed: an episode may have 4,500."""
    room: int
    rooms: frozenset[int]
    step: int


class MontezumaAlbum:
    """See `envs.family.Album`."""

    steps_a_frame = 4
    colours = np.zeros((0, 3), np.uint8)
    has_more_colours = True

    def __init__(self) -> None:
        self._moments: list[_Moment] = []

    def add(self, observation: dict[str, np.ndarray], env: MontezumaEnv) -> str:
        """Keep the screen and the rooms visited so far."""
        screen = zlib.compress(env.screen().tobytes(), 1)
        room = int(observation["room"][0])
        self._moments.append(_Moment(screen, room, env.rooms, env.length))
        count = len(env.rooms)
        return f"room {room}   {count} {'room' if count == 1 else 'rooms'} visited   {env.lives} lives"

    def pictures(self, lines: Sequence[tuple[int, str]]) -> Iterator[np.ndarray]:
        """Screen, map and line."""
        for number, line in lines:
            moment = self._moments[number]
            screen = _screen(moment).repeat(_SCREEN_SCALE, axis=0).repeat(_SCREEN_SCALE, axis=1)
            rooms = _small_map(moment.rooms)
            picture = np.zeros((screen.shape[0], screen.shape[1] + rooms.shape[1], 3), np.uint8)
            picture[:, : screen.shape[1]] = screen
            top = (screen.shape[0] - rooms.shape[0]) // 2
            picture[top : top + rooms.shape[0], screen.shape[1] :] = rooms
            yield captioned(picture, line)

    def summary(self, line: str) -> np.ndarray:
        """The map of rooms with a screen in each that was visited."""
        first = max(number for number, moment in enumerate(self._moments) if moment.step == 0)
        screens: dict[int, np.ndarray] = {}
        for moment in self._moments[first:]:
            screen = _screen(moment)
            # While a room is entered or the agent dies the screen is dark.
            if moment.room not in screens or screen.mean() > screens[moment.room].mean():
                screens[moment.room] = screen
        return captioned(draw_pyramid(self._moments[-1].rooms, screens), line)

    def text(self, moment: int, width: int, colour: bool) -> list[str]:
        """Nothing: letters do not show a screen."""
        return []


def _screen(moment: _Moment) -> np.ndarray:
    return np.frombuffer(zlib.decompress(moment.screen), np.uint8).reshape(*SCREEN, 3)


@lru_cache(maxsize=64)
def _small_map(rooms: frozenset[int]) -> np.ndarray:
    picture = Image.fromarray(draw_pyramid(rooms))
    return np.asarray(picture.resize((_MAP_WIDTH, picture.height * _MAP_WIDTH // picture.width)))

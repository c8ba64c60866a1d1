"""Pictures of MiniHack's episodes: maps in tiles, or in letters for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from bonuslab.envs.minihack import render
from bonuslab.envs.minihack.tiles import glyph_pictures


class _Moment(NamedTuple):
    glyphs: np.ndarray
    blstats: np.ndarray
    message: str


class MiniHackAlbum:
    """See `envs.family.Album`. Pictures are cropped to what was seen in any of them."""

    steps_a_frame = 1
    has_more_colours = False

    def __init__(self) -> None:
        self.colours = _tile_colours()
        self._moments: list[_Moment] = []
        self._boxes: dict[int, render.Box] = {}

    def add(self, observation: dict[str, np.ndarray], env: Any = None) -> str:
        """Keep the map; after a death, when all of it is zero, the one before."""
        if not observation["blstats"].any() and self._moments:
            self._moments.append(self._moments[-1])
        else:
            glyphs, blstats = observation["glyphs"].copy(), observation["blstats"].copy()
            self._moments.append(_Moment(glyphs, blstats, render.message_text(observation["message"])))
        self._boxes.clear()
        return render.status_text(self._moments[-1].blstats)

    def pictures(self, lines: Sequence[tuple[int, str]]) -> Iterator[np.ndarray]:
        """Message, map and line."""
        box = self._used_part(margin=1)
        for number, line in lines:
            moment = self._moments[number]
            yield render.frame(moment.glyphs, moment.blstats, moment.message, line, box)

    def summary(self, line: str) -> np.ndarray:
        """The last moment."""
        moment = self._moments[-1]
        return render.frame(moment.glyphs, moment.blstats, moment.message, line)

    def text(self, moment: int, width: int, colour: bool) -> list[str]:
        """Message and map."""
        glyphs, blstats, message = self._moments[moment]
        box = self._used_part(margin=0)
        return [message[:width], *render.text_lines(glyphs, render.agent_cell(blstats), box, colour)]

    def _used_part(self, margin: int) -> render.Box:
        if margin not in self._boxes:
            self._boxes[margin] = render.used_part(np.stack([moment.glyphs for moment in self._moments]), margin)
        return self._boxes[margin]


@cache
def _tile_colours() -> np.ndarray:
    codes = np.unique(glyph_pictures() @ (1 << 16, 1 << 8, 1))
    tiles = np.stack([codes >> 16, codes >> 8 & 255, codes & 255], axis=-1)
    return np.concatenate([tiles, [render.AGENT_COLOUR]]).astype(np.uint8)

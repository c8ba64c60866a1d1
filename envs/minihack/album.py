"""Pictures of MiniHack episodes: the map as tiles, or as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from bonuslab.envs.minihack import render
from bonuslab.envs.minihack.tiles import glyph_pictures


class _MapSnapshot(NamedTuple):
    glyphs: np.ndarray
    blstats: np.ndarray
    message: str


class MiniHackAlbum:
    """See `envs.family.Album`. Pictures are cropped to what was seen in any of them."""

    steps_per_frame = 1
    has_more_colours = False

    def __init__(self) -> None:
        self.colours = _tile_colours()
        self._snapshots: list[_MapSnapshot] = []
        self._boxes: dict[int, render.MapBox] = {}

    def add(self, observation: dict[str, np.ndarray], env: Any = None) -> str:
        """Record the map; after a death, when the observation is all zero, repeat the previous one."""
        if not observation["blstats"].any() and self._snapshots:
            self._snapshots.append(self._snapshots[-1])
        else:
            glyphs, blstats = observation["glyphs"].copy(), observation["blstats"].copy()
            self._snapshots.append(_MapSnapshot(glyphs, blstats, render.message_text(observation["message"])))
        self._boxes.clear()
        return render.status_text(self._snapshots[-1].blstats)

    def pictures(self, captions: Sequence[tuple[int, str]]) -> Iterator[np.ndarray]:
        """Message, map and caption."""
        box = self._used_part(margin=1)
        for number, caption in captions:
            yield render.frame(*self._snapshots[number], caption, box)

    def summary(self, caption: str) -> np.ndarray:
        """The last snapshot."""
        return render.frame(*self._snapshots[-1], caption)

    def text(self, snapshot: int, width: int, colour: bool) -> list[str]:
        """Message and map."""
        glyphs, blstats, message = self._snapshots[snapshot]
        box = self._used_part(margin=0)
        return [message[:width], *render.text_lines(glyphs, render.agent_cell(blstats), box, colour)]

    def _used_part(self, margin: int) -> render.MapBox:
        if margin not in self._boxes:
            glyphs = np.stack([snapshot.glyphs for snapshot in self._snapshots])
            self._boxes[margin] = render.used_part(glyphs, margin)
        return self._boxes[margin]


@cache
def _tile_colours() -> np.ndarray:
    codes = np.unique(glyph_pictures() @ (1 << 16, 1 << 8, 1))
    tiles = np.stack([codes >> 16, codes >> 8 & 255, codes & 255], axis=-1)
    return np.concatenate([tiles, [render.AGENT_COLOUR]]).astype(np.uint8)

"""Pictures of Gymnasium environments: what they draw themselves, or their observations as text."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from bonuslab.envs.caption import BACKGROUND, FONT_PIXELS, MARGIN_PIXELS, TEXT_COLOUR, captioned, font

_MAX_SIDE, _MIN_SIDE = 480, 240
_TEXT_SIZE = (320, 480)
_MAX_LINES = 14
_MAX_NUMBERS = 8


class _Snapshot(NamedTuple):
    picture: bytes | None
    """Compressed; None where the environment draws none."""
    shape: tuple[int, ...]
    lines: list[str]


class GymAlbum:
    """See `envs.family.Album`."""

    steps_per_frame = 1
    colours = np.zeros((0, 3), np.uint8)
    has_more_colours = True

    def __init__(self) -> None:
        self._snapshots: list[_Snapshot] = []

    def add(self, observation: dict[str, np.ndarray], env: Any) -> str:
        """Keep the environment's picture, or else its observation."""
        picture = _picture(env)
        packed = None if picture is None else zlib.compress(picture.tobytes(), 1)
        shape = () if picture is None else picture.shape
        self._snapshots.append(_Snapshot(packed, shape, _lines(observation)))
        place = observation.get("agent_position")
        return "" if place is None else f"at {', '.join(map(str, place.tolist()))}"

    def pictures(self, captions: Sequence[tuple[int, str]]) -> Iterator[np.ndarray]:
        """Picture and caption."""
        height, width = self._size()
        for number, caption in captions:
            drawn = Image.fromarray(self._drawn(self._snapshots[number]))
            yield captioned(np.asarray(drawn.resize((width, height), Image.Resampling.NEAREST)), caption)

    def summary(self, caption: str) -> np.ndarray:
        """The last snapshot."""
        return next(self.pictures([(len(self._snapshots) - 1, caption)]))

    def text(self, snapshot: int, width: int, colour: bool) -> list[str]:
        """The observation's numbers, or nothing where there is a picture, which letters cannot show."""
        shown = self._snapshots[snapshot]
        return [] if shown.picture is not None else [line[:width] for line in shown.lines]

    def _size(self) -> tuple[int, int]:
        """Height and width of all pictures: those of the first, enlarged or reduced to a useful size."""
        height, width = self._drawn(self._snapshots[0]).shape[:2]
        larger = max(height, width)
        scale = max(_MIN_SIDE // larger, 1) if larger < _MIN_SIDE else min(_MAX_SIDE / larger, 1)
        return max(round(height * scale), 1), max(round(width * scale), 1)

    def _drawn(self, snapshot: _Snapshot) -> np.ndarray:
        if snapshot.picture is None:
            return _written(snapshot.lines)
        return np.frombuffer(zlib.decompress(snapshot.picture), np.uint8).reshape(snapshot.shape)


def _picture(env: Any) -> np.ndarray | None:
    """[H, W, 3] uint8, or None where the environment has no such picture or fails to draw it."""
    if env.render_mode != "rgb_array":
        return None
    try:
        drawn = np.asarray(env.render())
    except Exception:  # drawing may need a package or a screen that is missing; the episode itself does not
        return None
    return drawn if drawn.ndim == 3 and drawn.shape[2] == 3 and drawn.dtype == np.uint8 else None


def _lines(observation: dict[str, np.ndarray]) -> list[str]:
    lines = []
    for key, array in observation.items():
        numbers = " ".join(f"{number:.4g}" for number in array.ravel()[:_MAX_NUMBERS].tolist())
        lines.append(f"{key}: {numbers}{' …' if array.size > _MAX_NUMBERS else ''}")
    return lines


def _written(lines: list[str]) -> np.ndarray:
    canvas = Image.new("RGB", _TEXT_SIZE[::-1], BACKGROUND)
    for number, line in enumerate(lines[:_MAX_LINES]):
        place = (MARGIN_PIXELS, MARGIN_PIXELS + number * (FONT_PIXELS + 6))
        ImageDraw.Draw(canvas).text(place, line, TEXT_COLOUR, font())
    return np.asarray(canvas)

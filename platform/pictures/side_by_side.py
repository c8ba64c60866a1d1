"""Several episodes in one video, side by side; an episode that has ended shows its last frame until all have."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import cast

import numpy as np
from PIL import Image, ImageDraw

from bonuslab.envs.caption import BACKGROUND, LINE_PIXELS, MARGIN_PIXELS, font
from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.family import Album
from bonuslab.envs.minihack.render import TEXT_COLOUR
from bonuslab.platform.pictures import bonus_plot
from bonuslab.platform.pictures.show import Show, video_of
from bonuslab.platform.pictures.video import Video

MOST = 16
"""More episodes would each be too small to see."""
MOST_COLUMNS = 4
WIDTH_PIXELS = 1920
"""Larger pictures are scaled down to fit beside each other."""


def save(shows: Sequence[Show], titles: Sequence[str], path: Path, seconds_per_frame: float) -> None:
    """Write an MP4 or GIF of all episodes at once, each below its title, or a PNG summary of the last one."""
    if len(shows) == 1 or path.suffix.lower() == ".png":
        video_of(list(shows[-1:])).save(path, seconds_per_frame)
        return
    if len(shows) > MOST:
        raise InvalidInput(f"{len(shows)} episodes do not fit into one video; at most {MOST} do")
    tiles = _Tiles(shows, titles)
    video = Video(cast("Album", tiles), bonus_plot.COLOURS)  # an animation needs no more of an album
    for step in range(tiles.length):
        video.add(step, "", hold=step == tiles.length - 1)
    video.save(path, seconds_per_frame)


class _Tiles:
    """An album whose snapshot `n` is step `n` of every show."""

    def __init__(self, shows: Sequence[Show], titles: Sequence[str]) -> None:
        self._shows = list(zip(shows, titles, strict=True))
        self.length = max(len(show.lines) for show in shows)
        self.steps_per_frame = max(show.album.steps_per_frame for show in shows)
        self.colours = np.unique(np.concatenate([show.album.colours for show in shows]), axis=0)
        self.has_more_colours = any(show.album.has_more_colours for show in shows)

    def pictures(self, captions: Sequence[tuple[int, str]]) -> Iterator[np.ndarray]:
        """[H, W, 3] each: the shows in rows and columns."""
        steps = [step for step, _ in captions]
        count = len(self._shows)
        columns = count if count <= MOST_COLUMNS else math.ceil(math.sqrt(count))
        width = WIDTH_PIXELS // columns
        for tiles in zip(*(_frames(show, title, steps, width) for show, title in self._shows), strict=True):
            size = np.max([tile.shape[:2] for tile in tiles], axis=0)
            blank = np.full((*size, 3), BACKGROUND, np.uint8)
            padded = [*map(partial(_padded, size=size), tiles), *[blank] * (-len(tiles) % columns)]
            rows = [np.concatenate(padded[at : at + columns], axis=1) for at in range(0, len(padded), columns)]
            yield np.concatenate(rows)


def _frames(show: Show, title: str, steps: Sequence[int], width: int) -> Iterator[np.ndarray]:
    """One show at the given steps; after its end, its last frame."""
    last = len(show.lines) - 1
    own = [step for step in steps if step < last]
    own += [last] if len(own) < len(steps) else []
    drawn = show.album.pictures([(show.first + step, show.lines[step]) for step in own])
    for step, picture in zip(own, drawn, strict=True):
        fitting = _scaled(picture, width)
        across = fitting.shape[1]
        frame = np.concatenate([_title(title, across), fitting, bonus_plot.panel(show.series, step, across)])
        yield frame
    yield from repeat(frame, len(steps) - len(own))


def _scaled(picture: np.ndarray, width: int) -> np.ndarray:
    if picture.shape[1] <= width:
        return picture
    height = round(picture.shape[0] * width / picture.shape[1])
    return np.asarray(Image.fromarray(picture).resize((width, height), Image.Resampling.LANCZOS))


def _title(text: str, width: int) -> np.ndarray:
    canvas = Image.new("RGB", (width, LINE_PIXELS), BACKGROUND)
    while text and font().getlength(text) > width - 2 * MARGIN_PIXELS:
        text = text[:-1]
    ImageDraw.Draw(canvas).text((MARGIN_PIXELS, LINE_PIXELS // 2), text, TEXT_COLOUR, font(), anchor="lm")
    return np.asarray(canvas)


def _padded(tile: np.ndarray, size: np.ndarray) -> np.ndarray:
    height, width = size - tile.shape[:2]
    return np.pad(tile, ((0, height), (0, width), (0, 0)))

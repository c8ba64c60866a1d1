"""Several episodes in one video, side by side; an episode that has ended shows its last frame until all have."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
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
        for scenes in zip(*(_scenes(show, steps, width) for show, _ in self._shows), strict=True):
            size = np.max([picture.shape[:2] for _, picture in scenes], axis=0)
            tiles = [
                _tile(show, title, step, picture, size)
                for (show, title), (step, picture) in zip(self._shows, scenes, strict=True)
            ]
            tiles += [np.full(tiles[0].shape, BACKGROUND, np.uint8)] * (-count % columns)
            rows = [_row(tiles[at : at + columns]) for at in range(0, len(tiles), columns)]
            yield np.concatenate(rows)


def _scenes(show: Show, steps: Sequence[int], width: int) -> Iterator[tuple[int, np.ndarray]]:
    """One show's step and picture at the given steps; after its end, its last."""
    last = len(show.lines) - 1
    own = [step for step in steps if step < last]
    own += [last] if len(own) < len(steps) else []
    drawn = show.album.pictures([(show.first + step, show.lines[step]) for step in own])
    for step, picture in zip(own, drawn, strict=True):
        scene = step, _scaled(picture, width)
        yield scene
    yield from repeat(scene, len(steps) - len(own))


def _tile(show: Show, title: str, step: int, picture: np.ndarray, size: np.ndarray) -> np.ndarray:
    """A picture, enlarged to `size`, between its title and its bonus; its status line stays above the bonus."""
    across = int(size[1])
    parts = [_title(title, across), _padded(picture, size, at_the_top=True)]
    return np.concatenate([*parts, *([bonus_plot.panel(show.series, step, across)] if show.series else [])])


def _row(tiles: Sequence[np.ndarray]) -> np.ndarray:
    height = max(len(tile) for tile in tiles)
    return np.concatenate([_padded(tile, np.array([height, tile.shape[1]])) for tile in tiles], axis=1)


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


def _padded(tile: np.ndarray, size: np.ndarray, at_the_top: bool = False) -> np.ndarray:
    height, width = size - tile.shape[:2]
    return np.pad(tile, ((height, 0) if at_the_top else (0, height), (0, width), (0, 0)))

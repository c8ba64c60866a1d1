"""Draws episodes: maps with path and revealed area, strips of views, videos."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from bonuslab.envs.habitat.coverage import SIGHT_METRES
from bonuslab.envs.habitat.simulator import FIELD_OF_VIEW_DEGREES, NavigableMap, Pose

SOLID = (52, 56, 64)
UNSEEN = (150, 154, 160)
SEEN = (244, 234, 206)
PATH_START, PATH_END = np.array((36, 120, 180)), np.array((208, 58, 44))
PATH_COLOURS = np.linspace(PATH_START, PATH_END, 12).astype(np.uint8)
TEXT_COLOUR = (240, 240, 236)
PIXELS_PER_METRE = 40
GAP_PIXELS = 6
GROUND = 24
"""Grey level around and between pictures."""


def top_down(
    map_: NavigableMap,
    revealed: np.ndarray | None = None,
    path: Sequence[Pose] = (),
    *,
    background: np.ndarray | None = None,
    pixels_per_metre: float = PIXELS_PER_METRE,
) -> np.ndarray:
    """[H, W, 3]: the map, bright where it was seen, with the path (blue to red) and the agent.

    `background` is a picture of the same extent to draw on instead of the plain map.
    """
    rows, columns = map_.navigable.shape
    size = round(columns * map_.cell * pixels_per_metre), round(rows * map_.cell * pixels_per_metre)
    if background is None:
        plain = np.full((rows, columns, 3), SOLID, np.uint8)
        plain[map_.navigable] = SEEN if revealed is None else UNSEEN
        if revealed is not None:
            plain[revealed] = SEEN
        picture = Image.fromarray(plain).resize(size, Image.Resampling.NEAREST)
    else:
        picture = Image.fromarray(background).resize(size, Image.Resampling.LANCZOS)
        if revealed is not None:
            picture = _fogged(picture, revealed)
    if path:
        _draw_path(picture, map_, path, pixels_per_metre)
    return np.asarray(picture)


def _fogged(picture: Image.Image, revealed: np.ndarray) -> Image.Image:
    """Darken what was not seen."""
    fog = Image.blend(picture.convert("L").convert("RGB"), Image.new("RGB", picture.size, (40, 44, 52)), 0.62)
    mask = Image.fromarray((revealed * 255).astype(np.uint8)).resize(picture.size, Image.Resampling.BILINEAR)
    return Image.composite(picture, fog, mask)


def _draw_path(picture: Image.Image, map_: NavigableMap, path: Sequence[Pose], scale: float) -> None:
    draw = ImageDraw.Draw(picture, "RGBA")
    points = [((pose.x - map_.x0) * scale, (pose.z - map_.z0) * scale) for pose in path]
    width = max(2, round(scale / 11))
    for number, (a, b) in enumerate(itertools.pairwise(points)):
        share = number / max(1, len(points) - 2)
        colour = (PATH_START * (1 - share) + PATH_END * share).astype(int)
        draw.line([a, b], fill=tuple(colour.tolist()), width=width)
    radius = max(3, round(scale / 9))
    x, z = points[0]
    draw.ellipse([x - radius, z - radius, x + radius, z + radius], fill=tuple(PATH_START.tolist()), outline=TEXT_COLOUR)
    x, z = points[-1]
    heading, half, reach = path[-1].heading, math.radians(FIELD_OF_VIEW_DEGREES / 2), 0.25 * SIGHT_METRES * scale
    edges = [heading + half * k / 8 for k in range(-8, 9)]
    cone = [(x - reach * math.sin(angle), z - reach * math.cos(angle)) for angle in edges]
    draw.polygon([(x, z), *cone], fill=(255, 236, 120, 70))
    draw.ellipse([x - radius, z - radius, x + radius, z + radius], fill=tuple(PATH_END.tolist()), outline=TEXT_COLOUR)


def depth_picture(depth: np.ndarray) -> np.ndarray:
    """[H, W, 3]: depth from 0 to 1; near is bright."""
    flat = depth.reshape(depth.shape[:2]).astype(np.float32)
    near = np.clip(1.0 - flat / 0.6, 0, 1)  # few rooms are longer than 6 metres
    return np.stack([30 + 225 * near, 20 + 220 * near**1.6, 70 + 60 * near**4], axis=-1).astype(np.uint8)


def side_by_side(pictures: Sequence[np.ndarray], height: int | None = None) -> np.ndarray:
    """Pictures in a row, scaled to one height."""
    tall = height or max(picture.shape[0] for picture in pictures)
    scaled = [_to_height(picture, tall) for picture in pictures]
    gap = np.full((tall, GAP_PIXELS, 3), GROUND, np.uint8)
    row: list[np.ndarray] = []
    for picture in scaled:
        row += [picture, gap]
    return np.hstack(row[:-1])


def stacked(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Rows of pictures below each other, padded to one width."""
    width = max(row.shape[1] for row in rows)
    gap = np.full((GAP_PIXELS, width, 3), GROUND, np.uint8)
    column: list[np.ndarray] = []
    for row in rows:
        column += [np.pad(row, ((0, 0), (0, width - row.shape[1]), (0, 0)), constant_values=GROUND), gap]
    return np.vstack(column[:-1])


def fitted(picture: np.ndarray, height: int, width: int) -> np.ndarray:
    """[height, width, 3]: a picture scaled to fit, centred."""
    scale = min(height / picture.shape[0], width / picture.shape[1])
    size = max(1, round(picture.shape[1] * scale)), max(1, round(picture.shape[0] * scale))
    left, top = (width - size[0]) // 2, (height - size[1]) // 2
    whole = np.full((height, width, 3), GROUND, np.uint8)
    whole[top : top + size[1], left : left + size[0]] = Image.fromarray(picture).resize(size, Image.Resampling.LANCZOS)
    return whole


def labelled(picture: np.ndarray, text: str, height: int) -> np.ndarray:
    """A picture scaled to `height`, with text in its corner."""
    image = Image.fromarray(_to_height(picture, height))
    font = ImageFont.load_default(size=max(9, height // 16))
    place = (5, height - 5)
    ImageDraw.Draw(image).text(place, text, TEXT_COLOUR, font, anchor="lb", stroke_width=2, stroke_fill=(0, 0, 0))
    return np.asarray(image)


def _to_height(picture: np.ndarray, height: int) -> np.ndarray:
    if picture.shape[0] == height:
        return picture
    width = round(picture.shape[1] * height / picture.shape[0])
    return np.asarray(Image.fromarray(picture).resize((width, height), Image.Resampling.LANCZOS))


def frame(
    views: Sequence[np.ndarray],
    map_: NavigableMap,
    revealed: np.ndarray,
    path: Sequence[Pose],
    coverage: float,
    *,
    background: np.ndarray | None = None,
    height: int = 256,
) -> np.ndarray:
    """[H, W, 3]: the agent's view, and the map of what it has seen so far."""
    row = side_by_side([*views, top_down(map_, revealed, path, background=background)], height)
    return labelled(row, f"step {len(path) - 1}   coverage {coverage:.0%}", height)


def save_gif(frames: Sequence[np.ndarray], file: Path, frames_per_second: float = 8.0, colours: int = 128) -> None:
    """Write a looping GIF."""
    first, *others = (Image.fromarray(each).quantize(colours, dither=Image.Dither.NONE) for each in frames)
    first.save(
        file, save_all=True, append_images=others, duration=round(1000 / frames_per_second), loop=0, optimize=True
    )

"""The bonus per step of an episode, drawn below the frame: bar charts, or lines of block characters."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from bonuslab.envs.minihack import render
from bonuslab.platform.pictures.palette import ANSI_COLOURS, SCOPE_COLOURS, scope_rgb
from bonuslab.platform.pictures.video import Colour

SERIES_COLOURS: tuple[Colour, ...] = tuple(scope_rgb(scope) for scope in ("combined", "episodic", "global"))
"""Of a combined bonus and its two parts."""
FIELD_COLOUR: Colour = (28, 31, 36)
"""Background of the bars, seen where steps are still to come."""
CURSOR_COLOUR: Colour = (84, 90, 98)
COLOURS = (*map(scope_rgb, SCOPE_COLOURS), FIELD_COLOUR, CURSOR_COLOUR)
STRIP_PIXELS = 48
FONT_PIXELS = 13
LABEL_PIXELS = 20
SQUARE_PIXELS = 9
_BLOCKS = "▁▂▃▄▅▆▇█"
LABEL_CELLS = 9
VALUE_CELLS = 8


class BonusSeries(NamedTuple):
    """One value per step of an episode."""

    name: str
    """Label in the terminal."""
    label: str
    """Label in a picture."""
    values: np.ndarray  # [T]
    scope: str = "combined"
    """Which colours it."""


def panel(series: list[BonusSeries], step: int, width: int) -> np.ndarray:
    """[H, W, 3]: one chart per series, each on its own scale, with bars up to `step`."""
    margin = render.MARGIN_PIXELS
    pieces = []
    for one in series:
        colour = scope_rgb(one.scope)
        piece = Image.new("RGB", (width, LABEL_PIXELS + STRIP_PIXELS + margin), render.BACKGROUND)
        _draw_legend(ImageDraw.Draw(piece), one, step, width, colour)
        piece.paste(Image.fromarray(_strip(one.values, step, width - 2 * margin, colour)), (margin, LABEL_PIXELS))
        pieces.append(np.asarray(piece))
    return np.concatenate(pieces)


def text_lines(series: list[BonusSeries], step: int, width: int, colour: bool) -> list[str]:
    """One line per series: its name, its value at `step`, and a block per step or few steps so far."""
    lines = []
    for one in series:
        cells = min(width - LABEL_CELLS - VALUE_CELLS - 2, len(one.values))
        shares, reached, _ = _columns(one.values, step, cells)
        levels = np.ceil(shares[reached] * len(_BLOCKS)).astype(int)
        blocks = "".join(_BLOCKS[max(0, level - 1)] for level in levels)
        drawn = f"\033[{ANSI_COLOURS.get(one.scope, '0')}m{blocks}\033[0m" if colour else blocks
        lines.append(f"{one.name:<{LABEL_CELLS}} {_value(one, step):>{VALUE_CELLS}} {drawn}")
    return lines


def _strip(values: np.ndarray, step: int, width: int, colour: Colour) -> np.ndarray:
    """[STRIP_PIXELS, width, 3]: a bar per step or few steps so far; the current step is marked."""
    shares, reached, here = _columns(values, step, width)
    heights = np.where(reached, np.ceil(shares * (STRIP_PIXELS - 2)), 0)
    bar = np.arange(STRIP_PIXELS, 0, -1)[:, None] <= heights  # [STRIP_PIXELS, width]
    picture = np.full((*bar.shape, 3), FIELD_COLOUR, np.uint8)
    picture[:, here] = CURSOR_COLOUR
    picture[bar] = colour
    picture[bar & here] = render.TEXT_COLOUR
    return picture


def _draw_legend(draw: ImageDraw.ImageDraw, one: BonusSeries, step: int, width: int, colour: Colour) -> None:
    margin = render.MARGIN_PIXELS
    square = (LABEL_PIXELS - SQUARE_PIXELS) // 2
    draw.rectangle((margin, square, margin + SQUARE_PIXELS - 1, square + SQUARE_PIXELS - 1), colour)
    numbers = f"now {_value(one, step)}   max {one.values.max():.3g}"
    taken = _font().getlength(numbers)
    draw.text((width - margin - taken, 1), numbers, render.FAINT_COLOUR, _font())
    label = one.label
    while _font().getlength(label) > width - 4 * margin - SQUARE_PIXELS - taken and len(label) > 1:
        label = f"{label[:-2]}…"
    draw.text((margin + SQUARE_PIXELS + 6, 1), label, render.TEXT_COLOUR, _font())


def _columns(values: np.ndarray, step: int, cells: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each of `cells` columns: its value relative to the maximum, whether it is reached, whether `step` is in it.

    A column shows one step, or the maximum of several if the episode has more steps than columns. Future steps and
    negative values count as 0.
    """
    num_steps = len(values)
    first = np.arange(cells) * num_steps // cells  # the first step of each column
    past_last = np.maximum(np.append(first[1:], num_steps), first + 1)
    highest = values.max()
    shares = np.zeros(num_steps) if highest <= 0 else np.clip(values / highest, 0, 1)
    shares[step:] = 0
    reached = first < step
    return np.maximum.reduceat(shares, first), reached, reached & (step <= past_last)


def _value(one: BonusSeries, step: int) -> str:
    return f"{one.values[step - 1]:.3g}" if step else "-"


@cache
def _font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(FONT_PIXELS)

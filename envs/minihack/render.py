"""Draws observations as coloured text for a terminal, or as RGB pictures of NetHack's tiles."""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import NamedTuple

import numpy as np
from nle import nethack
from PIL import Image, ImageDraw

from bonuslab.envs.caption import BACKGROUND, MARGIN_PIXELS, font
from bonuslab.envs.caption import TEXT_COLOUR as FAINT_COLOUR
from bonuslab.envs.minihack.glyphs import STONE, symbols
from bonuslab.envs.minihack.tiles import TILE, glyph_pictures

TEXT_COLOUR = (226, 226, 220)
AGENT_COLOUR = (255, 220, 60)
LINE_PIXELS = 22
MIN_WIDTH_PIXELS = 480
MESSAGE_LINES = 2

_RESET = "\033[0m"
# NetHack's colours 0-7 and 8-15 are the terminal's normal and bright ones, with two exceptions: black, invisible on
# black, becomes dark grey, and "no colour" is the terminal's default.
_ANSI = ("90", *(f"{30 + colour}" for colour in range(1, 8)), "39", *(f"{82 + colour}" for colour in range(9, 16)))


class MapBox(NamedTuple):
    """A rectangle of map cells."""

    top: int
    left: int
    height: int
    width: int

    def crop(self, cells: np.ndarray) -> np.ndarray:
        """The part of a [..., 21, 79] array inside the rectangle."""
        return cells[..., self.top : self.top + self.height, self.left : self.left + self.width]


def used_part(glyphs: np.ndarray, margin: int = 1) -> MapBox:
    """The smallest rectangle that contains everything seen in glyphs [..., 21, 79]."""
    rows, columns = glyphs.shape[-2:]
    seen = (glyphs.reshape(-1, rows, columns) != STONE).any(axis=0)
    if not seen.any():
        return MapBox(0, 0, rows, columns)
    ys, xs = np.flatnonzero(seen.any(axis=1)), np.flatnonzero(seen.any(axis=0))
    top, left = max(ys[0] - margin, 0), max(xs[0] - margin, 0)
    bottom, right = min(ys[-1] + margin, rows - 1), min(xs[-1] + margin, columns - 1)
    return MapBox(int(top), int(left), int(bottom - top + 1), int(right - left + 1))


def agent_cell(blstats: np.ndarray) -> tuple[int, int]:
    """(row, column) of the agent."""
    return int(blstats[nethack.NLE_BL_Y]), int(blstats[nethack.NLE_BL_X])


def message_text(message: np.ndarray) -> str:
    """NetHack's message line as text: zero-terminated bytes [256]."""
    return message.tobytes().split(b"\0", 1)[0].decode("latin-1").strip()


def status_text(blstats: np.ndarray) -> str:
    """Health, level and game time in one line."""
    hp, max_hp = blstats[nethack.NLE_BL_HP], blstats[nethack.NLE_BL_HPMAX]
    level, turn = blstats[nethack.NLE_BL_XP], blstats[nethack.NLE_BL_TIME]
    return f"HP {hp}/{max_hp}   level {level}   turn {turn}"


def text_lines(
    glyphs: np.ndarray, agent: tuple[int, int] | None = None, box: MapBox | None = None, colour: bool = True
) -> list[str]:
    """The map as one string per row, plain or with ANSI colours and the agent's cell inverted."""
    box = box or MapBox(0, 0, *glyphs.shape)
    characters, colours = symbols()
    lines = []
    for y in range(box.top, box.top + box.height):
        row = glyphs[y, box.left : box.left + box.width]
        text = characters[row].tobytes().decode("latin-1")
        if not colour:
            lines.append(text.rstrip())
            continue
        here = agent[1] - box.left if agent is not None and agent[0] == y else -1
        lines.append(_coloured(text, colours[row], here))
    return lines


def _coloured(text: str, colours: np.ndarray, inverted: int) -> str:
    """One row, with a colour code only where the colour changes."""
    pieces, current = [], ""
    for x, character in enumerate(text.rstrip()):
        code = "1;7;33" if x == inverted else _ANSI[colours[x]]
        if code != current and (character != " " or x == inverted):
            pieces.append(f"\033[0;{code}m")
            current = code
        pieces.append(character)
    return "".join(pieces) + (_RESET if pieces else "")


def map_picture(
    glyphs: np.ndarray, agent: tuple[int, int] | None = None, box: MapBox | None = None, scale: int = 1
) -> np.ndarray:
    """[H, W, 3] uint8: the map as tiles of 16 * scale pixels, with a frame around the agent."""
    box = box or MapBox(0, 0, *glyphs.shape)
    tiles = glyph_pictures()[box.crop(glyphs)]  # [rows, columns, 16, 16, 3]
    picture = tiles.swapaxes(1, 2).reshape(box.height * TILE, box.width * TILE, 3)
    picture = picture.repeat(scale, axis=0).repeat(scale, axis=1)
    if agent is not None:
        side = TILE * scale
        y, x = (agent[0] - box.top) * side, (agent[1] - box.left) * side
        for thick in range(scale):
            first, last = thick, side - 1 - thick
            picture[y + first : y + last + 1, [x + first, x + last]] = AGENT_COLOUR
            picture[[y + first, y + last], x + first : x + last + 1] = AGENT_COLOUR
    return picture


def best_scale(box: MapBox) -> int:
    """The tile scale that makes a picture 500 to 1000 pixels wide where possible."""
    return max(1, min(3, 960 // (box.width * TILE)))


def frame(
    glyphs: np.ndarray,
    blstats: np.ndarray,
    message: str = "",
    status: str = "",
    box: MapBox | None = None,
    scale: int | None = None,
) -> np.ndarray:
    """[H, W, 3] uint8: message, map, status. The size depends only on box and scale."""
    box = box or used_part(glyphs)
    tiles = map_picture(glyphs, agent_cell(blstats), box, scale or best_scale(box))
    height, width = tiles.shape[:2]
    canvas_width = max(width + 2 * MARGIN_PIXELS, MIN_WIDTH_PIXELS)
    top = MARGIN_PIXELS + MESSAGE_LINES * LINE_PIXELS
    canvas = Image.new("RGB", (canvas_width, top + height + LINE_PIXELS + 2 * MARGIN_PIXELS), BACKGROUND)
    canvas.paste(Image.fromarray(tiles), ((canvas_width - width) // 2, top))
    draw = ImageDraw.Draw(canvas)
    text_width = canvas_width - 2 * MARGIN_PIXELS
    for number, line in enumerate(_wrapped(message, text_width, MESSAGE_LINES)):
        draw.text((MARGIN_PIXELS, MARGIN_PIXELS + number * LINE_PIXELS), line, TEXT_COLOUR, font())
    for line in _wrapped(status, text_width, 1):
        draw.text((MARGIN_PIXELS, top + height + MARGIN_PIXELS), line, FAINT_COLOUR, font())
    return np.asarray(canvas)


def _wrapped(text: str, width: int, max_lines: int) -> list[str]:
    """The text wrapped into lines of at most `width` pixels, the last truncated with an ellipsis if necessary."""
    lines: list[str] = []
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and font().getlength(longer) <= width:
            lines[-1] = longer
        elif len(lines) < max_lines:
            lines.append(word)
        else:
            lines[-1] = longer
            break
    return [_shortened(line, width) for line in lines]


def _shortened(line: str, width: int) -> str:
    """The line, truncated with an ellipsis if too wide."""
    if font().getlength(line) <= width:
        return line
    fits = bisect_right(range(len(line)), width, key=lambda length: math.ceil(font().getlength(f"{line[:length]}…")))
    return f"{line[: max(fits - 1, 0)].rstrip()}…"

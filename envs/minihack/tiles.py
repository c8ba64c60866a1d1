"""A 16 x 16 pixel picture of every glyph, read from the tile files that nle installs."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
from nle import nethack
from nle.nethack.nethack import HACKDIR

TILE = 16
"""Tile size in pixels."""

_FILES = ("monsters.txt", "objects.txt", "other.txt")
_COLOUR = re.compile(r"^(\S) = \((\d+), *(\d+), *(\d+)\)$", re.MULTILINE)
_DRAWING = re.compile(r"^\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)


@cache
def glyph_pictures() -> np.ndarray:
    """[MAX_GLYPH + 1, 16, 16, 3] uint8; the last entry, NO_GLYPH, is black."""
    folder = Path(HACKDIR) / "tiles"
    tiles = np.concatenate([_read(folder / name) for name in _FILES])
    return np.concatenate([tiles[np.asarray(nethack.glyph2tile)], np.zeros((1, TILE, TILE, 3), np.uint8)])


def _read(path: Path) -> np.ndarray:
    """All tiles of a file: a palette of one-character names, then a block of 16 lines per tile."""
    text = path.read_text()
    palette = np.zeros((128, 3), np.uint8)
    for name, red, green, blue in _COLOUR.findall(text):
        palette[ord(name)] = int(red), int(green), int(blue)
    drawings = [block.replace(" ", "").replace("\n", "") for block in _DRAWING.findall(text)]
    names = np.frombuffer("".join(drawings).encode("ascii"), np.uint8)
    return palette[names.reshape(-1, TILE, TILE)]

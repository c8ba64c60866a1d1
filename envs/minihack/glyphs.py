"""The meaning of NetHack's glyphs: character and colour on a terminal, and kind of terrain.

A glyph is one number per map cell, out of 5976. All tables are read from nle, so they cannot drift from the game; only
the colours of explosions, rays and warnings are not exported.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from nle import nethack

STONE = nethack.GLYPH_CMAP_OFF
"""Solid rock, and anything not seen yet."""

# Indices of NetHack's map symbols (`defsyms` in its drawing.c); a glyph is STONE + index.
WALLS = range(1, 12)
DOORWAY = 12  # no door, or a broken one
OPEN_DOORS = range(13, 15)
CLOSED_DOORS = range(15, 17)
FLOORS = range(19, 23)  # lit and dark floor, dark and lit corridor
STAIRS_DOWN = 24
WATER = (32, 41)
LAVA = 34
TRAPS = range(42, 65)
PASSABLE = frozenset((DOORWAY, *OPEN_DOORS, *CLOSED_DOORS, *FLOORS, *range(23, 32), 33, 35, 36))
"""Terrain to walk on, including closed doors; 23-36 are stairs, altars, fountains, ice, lowered drawbridges."""

_BEAM, _SWALLOW, _EXPLOSION = 65, 79, 87
_BLACK, _RED, _GREEN, _BROWN, _BLUE, _MAGENTA, _NO_COLOUR, _ORANGE = 0, 1, 2, 3, 4, 5, 8, 9
_YELLOW, _BRIGHT_BLUE, _BRIGHT_MAGENTA, _WHITE = 11, 12, 13, 15
_EXPLOSION_COLOURS = (_BLACK, _GREEN, _BROWN, _BLUE, _MAGENTA, _ORANGE, _WHITE)
_RAY_COLOURS = (_BRIGHT_BLUE, _ORANGE, _WHITE, _BRIGHT_BLUE, _BLACK, _WHITE, _GREEN, _YELLOW)
_WARNING_COLOURS = (_WHITE, _RED, _RED, _RED, _MAGENTA, _BRIGHT_MAGENTA)


@cache
def symbols() -> tuple[np.ndarray, np.ndarray]:
    """Characters (uint8) and NetHack's colours 0-15 (uint8), indexed by glyph."""
    looks = [_symbol(glyph) for glyph in range(nethack.MAX_GLYPH)]
    looks.append((ord(" "), _NO_COLOUR))  # NO_GLYPH, one past the last
    return np.array([look[0] for look in looks], np.uint8), np.array([look[1] for look in looks], np.uint8)


@cache
def object_glyph(name: str) -> int:
    """The glyph of the object called `name`."""
    names = [nethack.OBJ_NAME(nethack.objclass(index)) for index in range(nethack.NUM_OBJECTS)]
    return nethack.GLYPH_OBJ_OFF + names.index(name)


@cache
def object_glyphs() -> np.ndarray:
    """Mask over all glyphs: objects that can be walked over (all but boulders)."""
    mask = np.array([nethack.glyph_is_object(glyph) for glyph in range(nethack.MAX_GLYPH + 1)])
    mask[object_glyph("boulder")] = False
    return mask


@cache
def monster_glyphs() -> np.ndarray:
    """Mask over all glyphs: monsters, including the agent itself."""
    return np.array([nethack.glyph_is_monster(glyph) for glyph in range(nethack.MAX_GLYPH + 1)])


def _symbol(glyph: int) -> tuple[int, int]:
    """Character and colour of one glyph."""
    if glyph == nethack.GLYPH_INVISIBLE:
        return ord("I"), _NO_COLOUR
    if glyph >= nethack.GLYPH_STATUE_OFF:  # drawn as the letter of what it depicts, in white
        return _monster(glyph - nethack.GLYPH_STATUE_OFF)[0], _WHITE
    if nethack.glyph_is_monster(glyph):
        return _monster(nethack.glyph_to_mon(glyph))
    if nethack.glyph_is_body(glyph):
        return ord("%"), _monster(glyph - nethack.GLYPH_BODY_OFF)[1]
    if nethack.glyph_is_normal_object(glyph):
        kind = nethack.objclass(nethack.glyph_to_obj(glyph))
        return ord(nethack.class_sym.from_oc_class(kind.oc_class).sym), kind.oc_color
    if nethack.glyph_is_warning(glyph):
        level = glyph - nethack.GLYPH_WARNING_OFF
        return ord("0") + level, _WARNING_COLOURS[level]
    if nethack.glyph_is_swallow(glyph):
        swallower, part = divmod(glyph - nethack.GLYPH_SWALLOW_OFF, 8)
        return _map_symbol(_SWALLOW + part)[0], _monster(swallower)[1]
    if glyph >= nethack.GLYPH_ZAP_OFF:
        ray, part = divmod(glyph - nethack.GLYPH_ZAP_OFF, 4)
        return _map_symbol(_BEAM + part)[0], _RAY_COLOURS[ray]
    if glyph >= nethack.GLYPH_EXPLODE_OFF:
        kind, part = divmod(glyph - nethack.GLYPH_EXPLODE_OFF, nethack.MAXEXPCHARS)
        return _map_symbol(_EXPLOSION + part)[0], _EXPLOSION_COLOURS[kind]
    return _map_symbol(glyph - nethack.GLYPH_CMAP_OFF)


def _monster(index: int) -> tuple[int, int]:
    kind = nethack.permonst(index)
    return ord(nethack.class_sym.from_mlet(kind.mlet).sym), kind.mcolor


def _map_symbol(index: int) -> tuple[int, int]:
    symbol = nethack.symdef.from_idx(index)
    return symbol.sym, symbol.color

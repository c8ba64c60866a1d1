"""Compiles map levels, byte for byte as NetHack's lev_comp does.

A compiled level is a header, the number of instructions, and the instructions of a small stack machine. lev_comp takes
several milliseconds, more than the rest of a reset; this takes about 15 microseconds.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from bonuslab.envs.errors import unknown
from bonuslab.envs.minihack.levels.compiler import LEVEL_NAME, compile_description
from bonuslab.envs.minihack.levels.level import Cell

DOOR_STATES: Final = {"open": 2, "closed": 4, "locked": 8}

# Instructions (NetHack's include/sp_lev.h).
_MONSTER, _DOOR, _STAIR, _BRANCH = 2, 7, 8, 17
_WALLIFY, _MAP, _REGION, _END_REGION = 22, 23, 25, 38
_PUSH, _INIT_LEVEL, _LEVEL_FLAGS, _SELECT_POINT = 40, 58, 59, 64

# Types of pushed values.
_INTEGER, _STRING, _COORDINATE, _AREA, _MONSTER_CLASS = 1, 2, 4, 5, 7

_MAP_CODES: Final = bytes.maketrans(b" |.L+", bytes([1, 2, 25, 21, 23]))
_CENTRE: Final = 3
_RANDOM_PLACE: Final = 0x0100_0000
_END_OF_MONSTER: Final = 0x10

_value = struct.Struct("<iBq").pack
_text = struct.Struct("<iBi").pack
_instruction = struct.Struct("<i").pack
_count = struct.Struct("<q").pack


def _integers(*values: int) -> bytes:
    return b"".join(_value(_PUSH, _INTEGER, value) for value in values)


def _coordinate(column: int, row: int) -> bytes:
    return _value(_PUSH, _COORDINATE, column | row << 16)


# FLAGS:hardfloor, INIT_MAP:solidfill,' ' and GEOMETRY:center,center
_PROLOGUE: Final = b"".join(
    (
        _integers(1, 127, 0, 0, 0, 0, 0, 0),
        _instruction(_INIT_LEVEL),
        _integers(32),
        _instruction(_LEVEL_FLAGS),
        _integers(2),
        _instruction(_LEVEL_FLAGS),
        _integers(1, 0, 0, -2, 0, 0, 0, 0),
        _instruction(_INIT_LEVEL),
        _coordinate(_CENTRE, _CENTRE),
        _integers(1, 1),
    )
)
_STAIR_DOWN: Final = _integers(0) + _instruction(_STAIR)
_BRANCH_TAIL: Final = _integers(3, 0) + _text(_PUSH, _STRING, 0) + _instruction(_BRANCH)
_WALLIFY_ALL: Final = _value(_PUSH, _AREA, 0xFFFF_FFFF) + _integers(0) + _instruction(_WALLIFY)
_RANDOM_MONSTER: Final = b"".join(
    (
        _value(_PUSH, _MONSTER_CLASS, -1),
        _value(_PUSH, _COORDINATE, _RANDOM_PLACE),
        _integers(_END_OF_MONSTER, 0),
        _instruction(_MONSTER),
    )
)
_FIXED_INSTRUCTIONS: Final = 55
_INSTRUCTIONS_PER_DOOR: Final = 4
_INSTRUCTIONS_PER_MONSTER: Final = 5


@lru_cache(maxsize=1)
def version_header() -> bytes:
    """The 40 bytes by which the installed NetHack recognises its levels, taken from its compiler."""
    return compile_description(f"MAZE:\"{LEVEL_NAME}\",' '\n")[:40]


def map_level(
    cells: bytes,
    columns: int,
    start: Cell,
    goal: Cell,
    doors: Sequence[Cell] = (),
    door_state: str = "closed",
    monsters: int = 0,
) -> bytes:
    """The .lev file of `description(...)` with the same arguments."""
    if door_state not in DOOR_STATES:
        raise unknown("door state", door_state, DOOR_STATES)
    rows = len(cells) // columns
    count = _FIXED_INSTRUCTIONS + _INSTRUCTIONS_PER_DOOR * len(doors) + _INSTRUCTIONS_PER_MONSTER * monsters
    x, y = start
    other_x, other_y = abs(x - 1), abs(y - 1)
    door = _instruction(_SELECT_POINT) + _integers(DOOR_STATES[door_state]) + _instruction(_DOOR)
    parts = [
        version_header(),
        _count(count),
        _PROLOGUE,
        _text(_PUSH, _STRING, len(cells)),
        cells.translate(_MAP_CODES),
        _integers(rows, columns),
        _instruction(_MAP),
        _value(_PUSH, _AREA, columns << 16 | rows << 24),
        _integers(1, 0, 1),
        _instruction(_REGION),
        _instruction(_END_REGION),
        _coordinate(*goal),
        _STAIR_DOWN,
        _integers(x, y, x, y, 0, other_x, other_y, other_x, other_y, 0),
        _BRANCH_TAIL,
    ]
    parts += [_coordinate(*place) + door for place in doors]
    return b"".join([*parts, _WALLIFY_ALL, _RANDOM_MONSTER * monsters])


def description(
    rows: Sequence[str],
    start: Cell,
    goal: Cell,
    doors: Sequence[Cell] = (),
    door_state: str = "closed",
    monsters: int = 0,
) -> str:
    """The .des text of a lit map level with stairs down as its goal."""
    x, y = start
    other_x, other_y = abs(x - 1), abs(y - 1)
    return "\n".join(
        [
            f"MAZE: \"{LEVEL_NAME}\", ' '",
            "FLAGS:hardfloor",
            "INIT_MAP: solidfill,' '",
            "GEOMETRY:center,center",
            "MAP",
            *rows,
            "ENDMAP",
            f'REGION:(0,0,{len(rows[0])},{len(rows)}),lit,"ordinary"',
            f"STAIR:({goal[0]},{goal[1]}),down",
            f"BRANCH:({x},{y},{x},{y}),({other_x},{other_y},{other_x},{other_y})",
            *(f"DOOR:{door_state},({column},{row})" for column, row in doors),
            "WALLIFY",
            *("MONSTER:random,random" for _ in range(monsters)),
            "",
        ]
    )

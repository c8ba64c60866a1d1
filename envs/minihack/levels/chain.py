"""The compiled part of MultiRoom: places a chain of rooms as minigrid's MultiRoomEnv does, and draws its map.

Rooms are rows of an int64 array: column, row, columns, rows, door column, door row (the door to the previous room).
All compiled functions are in this file because numba's cache only tracks changes of a function's own file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import uint64

from bonuslab.envs.compiling import njit

Function = TypeVar("Function", bound=Callable[..., Any])

SMALLEST_ROOM = 4
TRIES_PER_ROOM = 8
FLOOR, BLANK, DOOR = ord("."), ord(" "), ord("+")

EAST, SOUTH, WEST, NORTH = range(4)


def _compiled(signature: str) -> Callable[[Function], Function]:
    """Compile a function, and cache the machine code on disk if possible.

    The explicit signature prevents numba from recompiling for each constant argument.
    """

    def compile_now(function: Function) -> Function:
        try:
            return cast(Function, njit(signature, cache=True, nogil=True)(function))
        except (RuntimeError, OSError):  # no writable folder: a read-only installation, a full disk
            return cast(Function, njit(signature, nogil=True)(function))

    return compile_now


@_compiled("i8(u8[::1], i8)")
def below(stream: np.ndarray, bound: int) -> int:
    """A uniform integer in [0, bound), the same as `randomness.Stream.below`. `stream` is uint64 [1]."""
    wide = uint64(bound)
    threshold = uint64(0x1_0000_0000) % wide
    while True:
        stream[0] += uint64(0x9E3779B97F4A7C15)
        mixed = stream[0]
        mixed = (mixed ^ (mixed >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> uint64(27))) * uint64(0x94D049BB133111EB)
        product = ((mixed ^ (mixed >> uint64(31))) >> uint64(32)) * wide
        if product & uint64(0xFFFF_FFFF) >= threshold:
            return product >> uint64(32)


@_compiled("b1(i8[:, ::1], i8, i8, i8, i8, i8)")
def overlaps(rooms: np.ndarray, count: int, column: int, row: int, columns: int, rows: int) -> bool:
    """Whether a new room overlaps one of the first `count` rooms (minigrid leaves a gap on two sides only)."""
    for k in range(count):
        apart = (
            column + columns < rooms[k, 0]
            or rooms[k, 0] + rooms[k, 2] <= column
            or row + rows < rooms[k, 1]
            or rooms[k, 1] + rooms[k, 3] <= row
        )
        if not apart:
            return True
    return False


@_compiled("i8(u8[::1], i8[:, ::1], i8, i8, i8, i8)")
def add_room(stream: np.ndarray, rooms: np.ndarray, placed: int, entry: int, largest: int, side: int) -> int:
    """Try to place room `placed` behind a door of the previous room, which was entered through wall `entry`.

    Returns the wall through which the new room is entered, or -1 if all attempts failed.
    """
    sizes = largest - SMALLEST_ROOM + 1
    for _ in range(TRIES_PER_ROOM):
        door_wall = below(stream, 3)
        if door_wall >= entry:
            door_wall += 1
        door_column, door_row = rooms[placed - 1, 0], rooms[placed - 1, 1]
        if door_wall in (EAST, WEST):
            door_row += 1 + below(stream, rooms[placed - 1, 3] - 2)
            if door_wall == EAST:
                door_column += rooms[placed - 1, 2] - 1
        else:
            door_column += 1 + below(stream, rooms[placed - 1, 2] - 2)
            if door_wall == SOUTH:
                door_row += rooms[placed - 1, 3] - 1

        columns = SMALLEST_ROOM + below(stream, sizes)
        rows = SMALLEST_ROOM + below(stream, sizes)
        column, row = door_column, door_row
        if door_wall in (EAST, WEST):
            row += 2 - rows + below(stream, rows - 2)
            if door_wall == WEST:
                column += 1 - columns
        else:
            column += 2 - columns + below(stream, columns - 2)
            if door_wall == NORTH:
                row += 1 - rows

        # minigrid never uses the grid's last row, but does use its last column.
        if column < 0 or row < 0 or column + columns > side or row + rows >= side:
            continue
        if overlaps(rooms, placed - 1, column, row, columns, rows):
            continue
        rooms[placed, 0], rooms[placed, 1] = column, row
        rooms[placed, 2], rooms[placed, 3] = columns, rows
        rooms[placed, 4], rooms[placed, 5] = door_column, door_row
        return (door_wall + 2) % 4
    return -1


@_compiled("b1(u8[::1], i8[:, ::1], i8, i8, i8, i8)")
def place_rooms(stream: np.ndarray, rooms: np.ndarray, largest: int, side: int, tallest: int, max_chains: int) -> bool:
    """Fill `rooms` with a chain that spans at most `tallest` rows of a grid of `side` rows and columns.

    minigrid samples chains until one is complete; we also resample a complete chain that is too tall. Chains are
    independent and only grow taller, so abandoning one as soon as it is too tall changes no probability.
    """
    sizes = largest - SMALLEST_ROOM + 1
    for _ in range(max_chains):
        rooms[0, 0], rooms[0, 1] = below(stream, side - 2), below(stream, side - 2)
        rooms[0, 2], rooms[0, 3] = SMALLEST_ROOM + below(stream, sizes), SMALLEST_ROOM + below(stream, sizes)
        top, bottom = rooms[0, 1], rooms[0, 1] + rooms[0, 3]
        if rooms[0, 0] + rooms[0, 2] > side or bottom >= side or bottom - top > tallest:
            continue
        placed, entry = 1, WEST
        while placed < len(rooms):
            entry = add_room(stream, rooms, placed, entry, largest, side)
            if entry < 0:
                break
            top = min(top, rooms[placed, 1])
            bottom = max(bottom, rooms[placed, 1] + rooms[placed, 3])
            if bottom - top > tallest:
                break
            placed += 1
        if placed == len(rooms):
            return True
    return False


@_compiled("UniTuple(i8, 2)(u8[::1], i8[::1], i8, i8)")
def pick_floor(stream: np.ndarray, room: np.ndarray, taken_column: int, taken_row: int) -> tuple[int, int]:
    """A uniform cell inside the walls of `room`, other than the taken one."""
    while True:
        column, row = room[0] + below(stream, room[2]), room[1] + below(stream, room[3])
        inside = room[0] < column < room[0] + room[2] - 1 and room[1] < row < room[1] + room[3] - 1
        if inside and not (column == taken_column and row == taken_row):
            return column, row


@_compiled("UniTuple(i8, 2)(i8[:, ::1], i8, u1[:, ::1], i8[:, ::1])")
def draw_map(rooms: np.ndarray, wall: int, cells: np.ndarray, doors: np.ndarray) -> tuple[int, int]:
    """Draw the chain into `cells` [side, side] as MiniHack does, and list its doors row by row.

    Returns the first used row and the row after the last. Floor outside the outermost walls of a row is blanked; floor
    between two rooms of a row stays.
    """
    cells[:] = FLOOR
    top, bottom = len(cells), 0
    for k in range(len(rooms)):
        column, row = rooms[k, 0], rooms[k, 1]
        right, low = column + rooms[k, 2] - 1, row + rooms[k, 3] - 1
        for i in range(column, right + 1):
            cells[row, i] = wall
            cells[low, i] = wall
        for j in range(row, low + 1):
            cells[j, column] = wall
            cells[j, right] = wall
        if k > 0:
            cells[rooms[k, 5], rooms[k, 4]] = DOOR
        top, bottom = min(top, row), max(bottom, low + 1)

    found = 0
    for j in range(top, bottom):
        i = 0
        while cells[j, i] == FLOOR:
            cells[j, i] = BLANK
            i += 1
        i = cells.shape[1] - 1
        while cells[j, i] == FLOOR:
            cells[j, i] = BLANK
            i -= 1
        for i in range(cells.shape[1]):
            if cells[j, i] == DOOR:
                doors[found, 0], doors[found, 1] = i, j - top
                found += 1
    return top, bottom


@_compiled("UniTuple(i8, 2)(u8, i8, i8, i8, i8, i8[:, ::1], u1[:, ::1], i8[:, ::1])")
def random_map(
    seed: np.uint64,
    largest: int,
    wall: int,
    tallest: int,
    max_chains: int,
    rooms: np.ndarray,
    cells: np.ndarray,
    places: np.ndarray,
) -> tuple[int, int]:
    """Fill `rooms`, `cells` and `places` (start, goal, doors); returns the used rows, or (0, 0) if no map was found."""
    stream = np.empty(1, np.uint64)
    stream[0] = seed
    if not place_rooms(stream, rooms, largest, len(cells), tallest, max_chains):
        return 0, 0
    top, bottom = draw_map(rooms, wall, cells, places[2:])
    places[0, 0], places[0, 1] = pick_floor(stream, rooms[0], -1, -1)
    places[1, 0], places[1, 1] = pick_floor(stream, rooms[-1], places[0, 0], places[0, 1])
    places[0, 1] -= top
    places[1, 1] -= top
    return top, bottom

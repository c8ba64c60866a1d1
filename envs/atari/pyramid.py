"""The pyramid of Montezuma's Revenge: the layout of a level's 24 rooms, and a picture of those visited."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import numpy as np
from PIL import Image, ImageDraw

from bonuslab.envs.atari.memory import MEMORY_MAPS, MONTEZUMA
from bonuslab.envs.caption import font
from bonuslab.envs.errors import InvalidInput

NUM_ROOMS: Final = MEMORY_MAPS[MONTEZUMA].num_rooms
_FLOORS: Final = (range(3), range(3, 8), range(8, 15), range(15, 24))
_COLUMNS: Final = 9

_ROOM_PIXELS: Final = (112, 88)
_GAP, _MARGIN, _TITLE = 6, 24, 44
_BACKGROUND, _EMPTY, _EDGE = (24, 20, 28), (38, 33, 43), (66, 58, 74)
_TEXT, _FAINT, _GOLD = (236, 228, 212), (120, 110, 126), (232, 176, 64)
_RARE, _OFTEN = np.array((92, 58, 40)), np.array((186, 112, 36))


def place(room: int) -> tuple[int, int]:
    """(floor, column) of a room: floors from the top, columns from the left, both from 0."""
    for number, floor in enumerate(_FLOORS):
        if room in floor:
            return number, (_COLUMNS - len(floor)) // 2 + floor.index(room)
    raise InvalidInput(f"room {room!r} cannot be used; allowed: 0 to {NUM_ROOMS - 1}")


def draw_pyramid(
    rooms: Collection[int] | Mapping[int, float],
    pictures: Mapping[int, np.ndarray] | None = None,
    title: str | None = None,
) -> np.ndarray:
    """[H, W, 3] uint8: the level's map with the visited `rooms` lit.

    `rooms` are room numbers, or map them to the fraction of episodes (0 to 1) that reached the room, which is written
    below the number and determines the colour. `pictures` maps rooms to screens [210, 160, 3] to show; on the step that
    enters a room its screen may still be black.
    """
    fractions = dict(rooms) if isinstance(rooms, Mapping) else dict.fromkeys(rooms, 1.0)
    shown = {room: fraction for room, fraction in fractions.items() if fraction > 0}
    for room in shown:
        place(room)
    width, height = _ROOM_PIXELS
    size = (
        2 * _MARGIN + _COLUMNS * (width + _GAP) - _GAP,
        2 * _MARGIN + _TITLE + len(_FLOORS) * (height + _GAP) - _GAP,
    )
    image = Image.new("RGB", size, _BACKGROUND)
    draw = ImageDraw.Draw(image)
    draw.text((_MARGIN, _MARGIN), title or f"{len(shown)} of {NUM_ROOMS} rooms visited", _TEXT, font(22))
    for room in range(NUM_ROOMS):
        floor, column = place(room)
        left, top = _MARGIN + column * (width + _GAP), _MARGIN + _TITLE + floor * (height + _GAP)
        box = (left, top, left + width, top + height)
        picture = (pictures or {}).get(room) if room in shown else None
        if picture is not None:
            image.paste(Image.fromarray(picture).resize((width + 1, height + 1), Image.Resampling.LANCZOS), (left, top))
        fill = None if picture is not None else _colour(shown[room]) if room in shown else _EMPTY
        draw.rectangle(box, fill, _GOLD if room in shown else _EDGE, 2 if room in shown else 1)
        _write(draw, box, room, shown.get(room), isinstance(rooms, Mapping), picture is not None)
    return np.asarray(image)


def _write(
    draw: ImageDraw.ImageDraw,
    box: tuple[int, int, int, int],
    room: int,
    fraction: float | None,
    with_fraction: bool,
    on_picture: bool,
) -> None:
    """The room's number and fraction, centred, or on a label in the corner of a picture."""
    text = str(room) if fraction is None or not with_fraction else f"{room}\n{fraction:.0%}"
    colour = _FAINT if fraction is None else _TEXT
    left, top, right, bottom = box
    if not on_picture:
        middle = ((left + right) / 2, (top + bottom) / 2)
        draw.multiline_text(middle, text, colour, font(20), anchor="mm", align="center")
        return
    text = text.replace("\n", "  ")
    label = draw.textbbox((left + 8, top + 7), text, font(14))
    draw.rectangle((left + 3, top + 3, label[2] + 5, label[3] + 5), _BACKGROUND)
    draw.text((left + 8, top + 7), text, colour, font(14))


def _colour(fraction: float) -> tuple[int, int, int]:
    red, green, blue = (_RARE + (_OFTEN - _RARE) * min(fraction, 1.0) ** 0.5).astype(int).tolist()
    return red, green, blue

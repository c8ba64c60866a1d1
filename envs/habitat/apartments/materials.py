"""Surface materials, and the palette that makes each apartment look different."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from bonuslab.envs.habitat.apartments.plan import RoomKind

Colour = tuple[float, float, float]
"""Red, green, blue from 0 to 255."""


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """A texture in three colours."""

    texture: str
    colours: tuple[Colour, Colour, Colour]
    """One for each of the texture's weights: main, second, joints or shadows."""
    repeat: float = 1.0
    """Period of the texture in metres; 0 stretches it over the whole face."""
    glow: float = 0.0
    """Lower bound on brightness: 0 is lit by the room alone, 1 shows the colours as they are."""


def shades(colour: Colour, second: float = 0.86, third: float = 0.45) -> tuple[Colour, Colour, Colour]:
    """A colour and two darker shades of it."""
    return colour, _scaled(colour, second), _scaled(colour, third)


def _scaled(colour: Colour, by: float) -> Colour:
    red, green, blue = (min(255.0, part * by) for part in colour)
    return red, green, blue


WHITE: Colour = (238, 236, 230)
_WALLS: tuple[Colour, ...] = (
    (236, 232, 222), (226, 218, 202), (214, 214, 210), (196, 204, 188), (190, 206, 214), (222, 196, 182),
    (206, 180, 128), (174, 186, 168), (160, 176, 190), (214, 208, 186), (188, 170, 160), (228, 214, 170),
    (176, 120, 96), (92, 112, 132), (104, 124, 104), (222, 222, 226),
)  # fmt: skip
_WOODS: tuple[Colour, ...] = (
    (206, 166, 116), (178, 128, 82), (132, 90, 58), (92, 62, 44), (218, 190, 150), (164, 148, 130), (150, 98, 62),
)  # fmt: skip
_ACCENTS: tuple[Colour, ...] = (
    (168, 62, 52), (46, 84, 120), (202, 150, 50), (72, 108, 78), (120, 80, 110), (56, 62, 70), (196, 118, 84),
    (134, 160, 170), (184, 174, 156), (98, 46, 44), (38, 96, 98), (214, 190, 160), (116, 116, 122),
)  # fmt: skip
_TILES: tuple[Colour, ...] = (
    (232, 236, 236), (176, 206, 210), (206, 214, 196), (210, 196, 178), (120, 140, 150), (190, 178, 196),
)  # fmt: skip
_KITCHENS: tuple[Colour, ...] = (WHITE, (206, 212, 206), (70, 84, 92), (120, 140, 120), (150, 54, 48), (226, 214, 190))


class Palette:
    """The colours and materials of one apartment."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self.wood, self.other_wood = (Material("wood", shades(self._pick(_WOODS), 0.7), 0.9) for _ in range(2))
        self.trim = Material("plaster", shades(self._pick((WHITE, WHITE, (222, 214, 200), (150, 98, 62))), 0.95))
        self.ceiling = Material("plaster", shades(self._pick((WHITE, (246, 245, 242), (232, 228, 218))), 0.97))
        self.kitchen = Material("plaster", shades(self._pick(_KITCHENS)))
        self.white = Material("plaster", shades((244, 244, 242), 0.96, 0.5))
        self.dark = Material("plaster", shades((44, 46, 52)))
        self.leaves = Material("cloth", ((70, 116, 58), (116, 156, 78), (44, 70, 40)), 0.3)
        self._boards = self._wooden_floor() if rng.random() < 0.55 else None  # one floor for all dry rooms
        self._paint = self._pick(_WALLS) if rng.random() < 0.4 else None  # one wall colour for all rooms

    def floor(self, kind: RoomKind) -> Material:
        """A floor for a room of this kind."""
        rng = self._rng
        if kind is RoomKind.BATHROOM or (kind in (RoomKind.KITCHEN, RoomKind.STORE) and rng.random() < 0.75):
            main = self._pick(_TILES)
            second = self._pick((_scaled(main, 0.85), (60, 64, 70), WHITE))
            return Material(rng.choice(["tiles", "checker", "mosaic"]), (main, second, _scaled(main, 0.6)), 1.5)
        if kind is RoomKind.BEDROOM and rng.random() < 0.3:
            return Material("cloth", shades(self._pick((*_WALLS, *_ACCENTS)), 0.8), 0.8)
        return self._boards or self._wooden_floor()

    def wall(self, kind: RoomKind) -> Material:
        """Walls for a room of this kind."""
        if kind is RoomKind.BATHROOM:
            return Material(self._rng.choice(["brick", "tiles", "mosaic"]), shades(self._pick(_TILES), 0.93, 0.7))
        main, style = self._paint or self._pick(_WALLS), self._rng.random()
        if style < 0.65:
            return Material("plaster", shades(main, 0.82), 1.6)
        if style < 0.9:
            return Material("stripes", (main, _scaled(main, 0.9), self._pick(_ACCENTS)), self._rng.uniform(0.8, 1.4))
        return Material("brick", ((172, 96, 74), (136, 72, 56), (186, 176, 166)), 1.2)

    def cloth(self, texture: str = "cloth") -> Material:
        """Upholstery."""
        return Material(texture, shades(self._pick(_ACCENTS), 0.75), 0.6)

    def printed(self, texture: str) -> Material:
        """A face in three unrelated colours: books, a quilt, a rug, a painting."""
        first, second, third = (self._pick((*_ACCENTS, WHITE)) for _ in range(3))
        return Material(texture, (first, second, third), repeat=0)

    def front(self, texture: str, like: Material) -> Material:
        """A furniture front that goes with the material of its sides."""
        return Material(texture, like.colours, repeat=0)

    def _pick(self, choices: tuple[Colour, ...]) -> Colour:
        """One of the colours, slightly varied."""
        chosen, scale = self._rng.choice(choices), self._rng.uniform(0.94, 1.06)
        red, green, blue = (min(250.0, max(12.0, part * scale + self._rng.gauss(0, 3))) for part in chosen)
        return red, green, blue

    def _wooden_floor(self) -> Material:
        return Material("planks", shades(self._pick(_WOODS), 0.76, 0.5), self._rng.uniform(1.1, 1.7))

"""What surfaces are made of, and how one apartment's taste chooses among it."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from bonuslab.envs.habitat.apartments.looks.textures import TEXTURE
from bonuslab.envs.habitat.apartments.plan import RoomKind

Colour = tuple[float, float, float]
"""Red, green, blue from 0 to 255."""


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """A texture in three colours."""

    texture: str
    colours: tuple[Colour, Colour, Colour]
    """What the texture's three weights stand for: main, second, joints or shadows."""
    repeat: float = 1.0
    """Metres after which the texture repeats; 0 stretches it over the whole face."""
    glow: float = 0.0
    """Light of its own: 0 is lit by the room alone, 1 is as bright as its colours."""
    band: tuple[float, Material] | None = None
    """Up to this height above the floor the surface is of another material: skirting, wall tiles."""
    sky: int = -1
    """Number of the panorama that is seen instead, or -1."""

    def __post_init__(self) -> None:
        assert self.texture in TEXTURE


def shades(colour: Colour, second: float = 0.86, third: float = 0.45) -> tuple[Colour, Colour, Colour]:
    """A colour with two darker ones of itself."""
    return colour, _scaled(colour, second), _scaled(colour, third)


def _scaled(colour: Colour, by: float) -> Colour:
    red, green, blue = (min(255.0, part * by) for part in colour)
    return red, green, blue


WHITE: Colour = (238, 236, 230)
WALLS: tuple[Colour, ...] = (
    (236, 232, 222), (226, 218, 202), (214, 214, 210), (196, 204, 188), (190, 206, 214), (222, 196, 182),
    (206, 180, 128), (174, 186, 168), (160, 176, 190), (214, 208, 186), (188, 170, 160), (228, 214, 170),
    (176, 120, 96), (92, 112, 132), (104, 124, 104), (222, 222, 226),
)  # fmt: skip
WOODS: tuple[Colour, ...] = (
    (206, 166, 116), (178, 128, 82), (132, 90, 58), (92, 62, 44), (218, 190, 150), (164, 148, 130), (150, 98, 62),
)  # fmt: skip
ACCENTS: tuple[Colour, ...] = (
    (168, 62, 52), (46, 84, 120), (202, 150, 50), (72, 108, 78), (120, 80, 110), (56, 62, 70), (196, 118, 84),
    (134, 160, 170), (184, 174, 156), (98, 46, 44), (38, 96, 98), (214, 190, 160), (116, 116, 122),
)  # fmt: skip
STONES: tuple[Colour, ...] = ((226, 224, 220), (198, 190, 178), (156, 156, 158), (104, 104, 108), (214, 200, 176))
TILES: tuple[Colour, ...] = (
    (232, 236, 236),
    (176, 206, 210),
    (206, 214, 196),
    (210, 196, 178),
    (120, 140, 150),
    (190, 178, 196),
)

PICTURE = ((255.0, 0.0, 0.0), (0.0, 255.0, 0.0), (0.0, 0.0, 255.0))
"""Colours of a texture that is a picture by itself."""


class Taste:
    """One apartment's choice of colours and materials."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        wood = self.pick(WOODS)
        self.wood = Material("wood", shades(wood, 0.8), repeat=0.9)
        self.wood_colour = wood
        self.other_wood = Material("wood", shades(self.pick(WOODS), 0.8), repeat=0.9)
        self.trim = Material("plaster", shades(self.pick((WHITE, WHITE, (222, 214, 200), _scaled(wood, 0.9))), 0.95))
        self.metal = Material(
            "metal", shades(self.pick(((190, 192, 196), (120, 122, 126), (176, 150, 96), (52, 52, 56)))), 0.6
        )
        self.stone = Material("marble", shades(self.pick(STONES), 0.88, 0.6), repeat=1.3)
        self.accent = self.pick(ACCENTS)
        self.second_accent = self.pick(ACCENTS)
        self.sofa = Material(
            rng.choices(("weave", "leather", "quilt", "tartan"), (50, 25, 15, 10))[0], self._cloth(), 0.5
        )
        self.cushion = Material(rng.choice(["weave", "stripes", "tartan", "flowers"]), self._cloth(), 0.4)
        self.bedding = Material("sheets", (self.pick(ACCENTS), self.pick(ACCENTS), WHITE), repeat=0)
        self.curtain = Material("folds", shades(self.pick((*WALLS, *ACCENTS)), 0.8, 0.55), repeat=0.5)
        self.kitchen = self.pick(
            (WHITE, (206, 212, 206), (70, 84, 92), (120, 140, 120), wood, (150, 54, 48), (226, 214, 190))
        )
        self.ceiling = Material("plaster", shades(self.pick((WHITE, (246, 245, 242), (232, 228, 218))), 0.97))
        self._floor = self._wooden_floor()
        self._one_floor = rng.random() < 0.55  # the same boards in all dry rooms
        self._one_wall = self.pick(WALLS) if rng.random() < 0.4 else None
        self._tile = self.pick(TILES)

    def pick(self, choices: tuple[Colour, ...]) -> Colour:
        """One of these colours, a little changed."""
        chosen, scale = self._rng.choice(choices), self._rng.uniform(0.94, 1.06)
        red, green, blue = (min(250.0, max(12.0, part * scale + self._rng.gauss(0, 3))) for part in chosen)
        return red, green, blue

    def _cloth(self) -> tuple[Colour, Colour, Colour]:
        main = self.pick(ACCENTS)
        return main, self.pick((_scaled(main, 0.75), _scaled(main, 1.25), *ACCENTS)), _scaled(main, 0.5)

    def _wooden_floor(self) -> Material:
        name = self._rng.choice(["planks", "planks", "herringbone", "basket"])
        return Material(name, shades(self.pick(WOODS), 0.76, 0.5), repeat=self._rng.uniform(1.1, 1.7))

    def floor(self, kind: RoomKind) -> Material:
        """A floor for such a room."""
        rng = self._rng
        if kind is RoomKind.BATHROOM or (kind in (RoomKind.KITCHEN, RoomKind.STORE) and rng.random() < 0.75):
            name = rng.choice(["tiles", "checker", "mosaic", "marble", "tiles"])
            main = self.pick((*TILES, *STONES))
            second = (
                self.pick((_scaled(main, 0.85), (60, 64, 70), WHITE))
                if name in ("checker", "mosaic")
                else _scaled(main, 0.9)
            )
            repeat = {"mosaic": 0.8, "marble": 1.6}.get(name, rng.uniform(1.2, 2.0))
            return Material(name, (main, second, _scaled(main, 0.62)), repeat=repeat)
        if kind is RoomKind.BEDROOM and rng.random() < 0.3:
            return Material("carpet", shades(self.pick((*WALLS, *ACCENTS)), 0.8, 0.65), repeat=0.8)
        return self._floor if self._one_floor else self._wooden_floor()

    def wall(self, kind: RoomKind) -> Material:
        """A wall for such a room, with skirting or tiles at its foot."""
        rng = self._rng
        main = self._one_wall or self.pick(WALLS)
        skirting = 0.08, self.trim
        if kind is RoomKind.BATHROOM or (kind is RoomKind.KITCHEN and rng.random() < 0.5):
            tile = self._tile if rng.random() < 0.5 else self.pick(TILES)
            name = rng.choice(["metro", "tiles", "mosaic"])
            colours = tile, _scaled(tile, 0.93), _scaled(tile, 0.75)
            tiled = Material(name, colours, repeat=0.8)
            height = rng.choice([1.3, 2.0]) if kind is RoomKind.BATHROOM else 1.45
            return Material("plaster", shades(main, 0.96), band=(height, tiled))
        draw = rng.random()
        if draw < 0.56:
            return Material(rng.choice(["plaster", "plaster", "rough_plaster"]), shades(main, 0.95), band=skirting)
        if draw < 0.82:
            name = rng.choice(["stripes", "damask", "flowers"])
            return Material(
                name, (main, _scaled(main, 0.9), self.pick(ACCENTS)), repeat=rng.uniform(0.7, 1.2), band=skirting
            )
        if draw < 0.92:
            panel = Material("wood", shades(self.wood_colour, 0.85), repeat=0.9)
            return Material("plaster", shades(main, 0.95), band=(1.0, panel))
        name, colour = ("brick", (172, 96, 74)) if rng.random() < 0.6 else ("concrete", (166, 166, 164))
        return Material(name, (colour, _scaled(colour, 0.8), _scaled((200, 190, 180), 0.85)), repeat=1.0, band=skirting)

    def cloth(self) -> Material:
        """Some cloth in this apartment's colours."""
        return Material(self._rng.choice(["weave", "stripes", "tartan", "quilt"]), self._cloth(), 0.4)

    def rug(self) -> Material:
        """A rug that fills its face."""
        name = self._rng.choice(["persian", "banded_rug", "ringed_rug"])
        return Material(
            name, (self.pick(ACCENTS), self.pick((*ACCENTS, *WALLS)), self.pick((WHITE, (40, 36, 40)))), repeat=0
        )

    def front(self, name: str, colour: Colour | None = None) -> Material:
        """A front of furniture that fills its face; of this apartment's wood unless a colour is given."""
        main = self.wood_colour if colour is None else colour
        return Material(name, (main, _scaled(main, 0.84), _scaled(main, 0.35)), repeat=0)

    def wooden(self, colour: Colour) -> Material:
        """Painted wood."""
        return Material("wood", shades(colour, 0.92, 0.6), repeat=0.9)

"""Keeps what an agent saw and writes it as an animated GIF or a PNG."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.minihack import render
from bonuslab.envs.minihack.tiles import glyph_pictures

Colour = tuple[int, int, int]
Below = Callable[[int], np.ndarray]
"""Draws what stands under the status line: an RGB picture [H, W, 3] of the width it is given."""
SUFFIXES = (".gif", ".png")
HOLD_SECONDS = 2.0
"""How long an animation rests on its last picture."""


def picture_path(text: str) -> Path:
    """The path to save to, or an error if nothing could be written there."""
    path = Path(text).expanduser()
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidInput(f"cannot save to {text!r}: the name must end in {' or '.join(SUFFIXES)}")
    if path.is_dir():
        raise InvalidInput(f"cannot save to {text!r}: it is a folder")
    if not path.parent.is_dir():
        raise InvalidInput(f"cannot save to {text!r}: there is no folder {str(path.parent)!r}")
    # Only trying tells: permissions say little to root, on read-only disks and in special folders.
    existed = path.exists()
    try:
        path.open("ab").close()
    except OSError as error:
        raise InvalidInput(f"cannot save to {text!r}: {error.strerror}") from error
    if not existed:
        path.unlink()
    return path


class Shot(NamedTuple):
    """One moment: copies of the observation, the line under the map, and what stands below that."""

    glyphs: np.ndarray
    blstats: np.ndarray
    message: str
    status: str
    below: Below | None
    hold: bool

    def picture(self, box: render.Box | None = None) -> np.ndarray:
        """The moment as an RGB picture."""
        frame = render.frame(self.glyphs, self.blstats, self.message, self.status, box)
        return frame if self.below is None else np.concatenate([frame, self.below(frame.shape[1])])


class Film:
    """A sequence of shots. `colours` are those of pictures below the status line that the tiles do not have."""

    def __init__(self, colours: tuple[Colour, ...] = ()) -> None:
        self.shots: list[Shot] = []
        self._colours = colours

    def add(
        self, observation: dict[str, np.ndarray], status: str, below: Below | None = None, hold: bool = False
    ) -> None:
        """Keep one moment; an animation rests on it if `hold`."""
        message = render.message_text(observation["message"])
        glyphs, blstats = observation["glyphs"].copy(), observation["blstats"].copy()
        self.shots.append(Shot(glyphs, blstats, message, status, below, hold))

    def frames(self) -> Iterator[np.ndarray]:
        """RGB pictures of one size, cropped to what was seen in any of them."""
        box = render.used_part(np.stack([shot.glyphs for shot in self.shots]))
        for shot in self.shots:
            yield shot.picture(box)

    def save(self, path: Path, seconds_per_frame: float = 0.1) -> None:
        """Write all shots as a GIF, or the last one as a PNG."""
        if path.suffix.lower() == ".png":
            Image.fromarray(self.shots[-1].picture()).save(path)
            return
        # A GIF counts in hundredths of a second; below two of them viewers fall back to a slow default.
        milliseconds = max(20, round(seconds_per_frame * 100) * 10)
        hold = round(HOLD_SECONDS * 1000)
        durations = [hold if shot.hold else milliseconds for shot in self.shots]
        images = (_with_palette(frame, self._colours) for frame in self.frames())
        next(images).save(
            path,
            format="GIF",
            save_all=True,
            append_images=images,
            duration=[*durations[:-1], hold],
            loop=0,
        )


def _with_palette(frame: np.ndarray, further: tuple[Colour, ...]) -> Image.Image:
    """The frame with numbers in place of colours; a table look-up, fifty times faster than Pillow's search."""
    colours, nearest = _palette(further)
    red, green, blue = np.moveaxis(frame >> 3, -1, 0)
    image = Image.fromarray(nearest[red, green, blue])
    image.putpalette(colours.tobytes())
    return image


@cache
def _palette(further: tuple[Colour, ...] = ()) -> tuple[np.ndarray, np.ndarray]:
    """Colours [n, 3] and the number of the nearest one to each colour of 5 bits a channel [32, 32, 32].

    They are the tiles' few colours, `further` ones, and shades for the edges of letters: the same in all frames, so
    nothing flickers.
    """
    codes = np.unique(glyph_pictures() @ (1 << 16, 1 << 8, 1))
    tiles = np.stack([codes >> 16, codes >> 8 & 255, codes & 255], axis=-1)
    shades = np.linspace(0, 1, 16)[:, None]
    letters = [np.rint(shades * colour) for colour in (render.TEXT_COLOUR, render.FAINT_COLOUR)]
    colours = np.concatenate([tiles, [render.AGENT_COLOUR, *further], *letters]).astype(np.uint8)
    if len(colours) > 256:
        raise ValueError(f"a GIF has 256 colours, the tiles need {len(colours)}")
    levels = np.stack(np.meshgrid(*[np.arange(32)] * 3, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    distance = ((levels - (colours >> 3).astype(int)) ** 2).sum(axis=-1)  # [32 ** 3, n]
    return colours, distance.argmin(axis=1).astype(np.uint8).reshape(32, 32, 32)

"""Writes an album as an MP4 or animated GIF, or its summary as a PNG."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from os.path import expanduser
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.family import Album
from bonuslab.envs.minihack import render

Colour = tuple[int, int, int]
Below = Callable[[int], np.ndarray]
"""Draws an RGB panel [H, W, 3] of the given width below the status line."""
SUFFIXES = (".mp4", ".gif", ".png")
HOLD_SECONDS = 2.0
"""How long an animation holds the last frame of an episode."""
_MAX_COLOURS = 256
_SAMPLED_FRAMES, _SAMPLED_PIXELS = 12, 200_000
"""Used to choose the 256 colours of a GIF."""


def picture_path(text: str) -> Path:
    """The path to save to; an error if it cannot be written."""
    path = Path(expanduser(text))
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidInput(f"cannot save to {text!r}: the name must end in {' or '.join(SUFFIXES)}")
    if path.is_dir():
        raise InvalidInput(f"cannot save to {text!r}: it is a folder")
    if not path.parent.is_dir():
        raise InvalidInput(f"cannot save to {text!r}: there is no folder {str(path.parent)!r}")
    # Permissions mean little to root, on read-only disks and in special folders, so try to open it.
    existed = path.exists()
    try:
        path.open("ab").close()
    except OSError as error:
        raise InvalidInput(f"cannot save to {text!r}: {error.strerror}") from error
    if not existed:
        path.unlink()
    return path


class Shot(NamedTuple):
    """One frame: a moment of an album, the status line, and the panel below."""

    moment: int
    line: str
    below: Below | None
    hold: bool

    def whole(self, picture: np.ndarray) -> np.ndarray:
        """The moment's picture with the panel below."""
        return picture if self.below is None else np.concatenate([picture, self.below(picture.shape[1])])


class Video:
    """A sequence of shots. `colours` are those of the panels that the album does not have."""

    def __init__(self, album: Album, colours: tuple[Colour, ...] = ()) -> None:
        self.shots: list[Shot] = []
        self._album = album
        self._colours = colours

    def add(self, moment: int, line: str, below: Below | None = None, hold: bool = False) -> None:
        """Append a shot; `hold` marks the last one of an episode."""
        self.shots.append(Shot(moment, line, below, hold))

    def save(self, path: Path, seconds_per_frame: float = 0.1) -> None:
        """Write an MP4 or GIF of the shots, or a PNG summary of the last episode."""
        if path.suffix.lower() == ".png":
            last = self.shots[-1]
            Image.fromarray(last.whole(self._album.summary(last.line))).save(path)
            return
        if path.suffix.lower() == ".mp4":
            self._save_mp4(path, seconds_per_frame)
            return
        # GIF durations are hundredths of a second; below two, viewers fall back to a slow default.
        milliseconds = max(20, round(seconds_per_frame * 100) * 10)
        hold = round(HOLD_SECONDS * 1000)
        shots = self._frames()
        durations = [hold if shot.hold else milliseconds for shot in shots]
        palette = _Palette(self._palette(shots))
        pictures = zip(shots, self._pictures(shots), strict=True)
        images = (palette.image(shot.whole(picture)) for shot, picture in pictures)
        next(images).save(path, format="GIF", save_all=True, append_images=images, duration=durations, loop=0)

    def _save_mp4(self, path: Path, seconds_per_frame: float) -> None:
        """H.264, which browsers and slides can play."""
        import av  # loads FFmpeg, which nothing else needs

        shots = self._frames()
        rate = Fraction(1 / max(0.01, seconds_per_frame)).limit_denominator(1000)
        held = max(1, round(HOLD_SECONDS * rate))
        with av.open(str(path), "w") as file:
            stream = file.add_stream("libx264", rate, options={"crf": "20"})
            stream.pix_fmt = "yuv420p"
            for shot, picture in zip(shots, self._pictures(shots), strict=True):
                frame = _even(shot.whole(picture))
                if not stream.codec_context.is_open:
                    stream.height, stream.width = frame.shape[:2]
                for _ in range(held if shot.hold else 1):
                    file.mux(stream.encode(av.VideoFrame.from_ndarray(frame)))
            file.mux(stream.encode())

    def _frames(self) -> list[Shot]:
        """Every `steps_per_frame`-th shot of each episode, and its last."""
        frames, step = [], 0
        for shot in self.shots:
            if step % self._album.steps_per_frame == 0 or shot.hold:
                frames.append(shot)
            step = 0 if shot.hold else step + 1
        return frames

    def _pictures(self, shots: list[Shot]) -> Iterator[np.ndarray]:
        return self._album.pictures([(shot.moment, shot.line) for shot in shots])

    def _palette(self, shots: list[Shot]) -> np.ndarray:
        """[n, 3] uint8: one palette for all frames, to avoid flicker, with shades for antialiased text."""
        shades = np.linspace(0, 1, 16)[:, None]
        letters = [np.rint(shades * colour) for colour in (render.TEXT_COLOUR, render.FAINT_COLOUR)]
        colours = np.concatenate([np.reshape(self._colours, (-1, 3)), *letters, self._album.colours]).astype(np.uint8)
        if not self._album.has_more_colours:
            return colours
        some = shots[:: -(-len(shots) // _SAMPLED_FRAMES)]
        pixels = np.concatenate([picture.reshape(-1, 3) for picture in self._pictures(some)])
        pixels = pixels[:: -(-len(pixels) // _SAMPLED_PIXELS)]
        room = _MAX_COLOURS - len(colours)
        further = Image.fromarray(pixels[None]).quantize(room).getpalette() or []
        return np.concatenate([colours, np.array(further, np.uint8).reshape(-1, 3)[:room]])


def _even(frame: np.ndarray) -> np.ndarray:
    """Repeat the last row or column if odd: H.264 needs even sides."""
    height, width = frame.shape[:2]
    return np.pad(frame, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")


class _Palette:
    """Maps colours to palette indices with a lookup table, fifty times faster than Pillow's search."""

    def __init__(self, colours: np.ndarray) -> None:
        if len(colours) > _MAX_COLOURS:
            raise ValueError(f"a GIF has at most {_MAX_COLOURS} colours, but the pictures need {len(colours)}")
        self._colours = colours
        levels = np.stack(np.meshgrid(*[np.arange(32)] * 3, indexing="ij"), axis=-1)  # 5 bits per channel
        self._nearest = np.empty((32, 32, 32), np.uint8)
        for red in range(32):
            distance = ((levels[red, :, :, None] - (colours >> 3).astype(int)) ** 2).sum(axis=-1)
            self._nearest[red] = distance.argmin(axis=-1)

    def image(self, frame: np.ndarray) -> Image.Image:
        """The frame in these colours."""
        red, green, blue = np.moveaxis(frame >> 3, -1, 0)
        image = Image.fromarray(self._nearest[red, green, blue])
        image.putpalette(self._colours.tobytes())
        return image

"""What is seen through windows: panoramas of sky, and of what stands in front of it."""

from __future__ import annotations

from functools import cache

import numpy as np

from bonuslab.envs.habitat.apartments.looks.noise import noise, smooth_step

HEIGHT, WIDTH = 128, 512
"""Rows from 45 degrees above the horizon to 45 degrees below, columns all around."""


@cache
def panoramas() -> np.ndarray:
    """[6, HEIGHT, WIDTH, 3] uint8: town, park, hills, sea, back yard, town at night."""
    rng = np.random.Generator(np.random.PCG64(77))
    drawn = [_town(rng, night=False), _park(rng), _hills(rng), _sea(rng), _yard(rng), _town(rng, night=True)]
    return np.clip(np.stack(drawn) * 255, 0, 255).astype(np.uint8)


def _grid() -> tuple[np.ndarray, np.ndarray]:
    v, u = np.mgrid[0:HEIGHT, 0:WIDTH]
    return u, (v + 0.5) / HEIGHT  # the horizon is at 0.5


def _sky(rng: np.random.Generator, high: tuple[float, ...], low: tuple[float, ...], clouds: float) -> np.ndarray:
    _, v = _grid()
    blend = smooth_step(0.0, 0.5, v)[..., None]
    sky = np.array(high) * (1 - blend) + np.array(low) * blend
    cover = smooth_step(0.5, 0.75, noise(rng, 0.9, 0.4, (HEIGHT, WIDTH)))[..., None] * clouds
    return sky * (1 - cover) + cover


def _ground(picture: np.ndarray, rng: np.random.Generator, tone: tuple[float, ...]) -> np.ndarray:
    _, v = _grid()
    earth = np.array(tone) * (0.8 + 0.4 * noise(rng, 0.4, 1.0, (HEIGHT, WIDTH)))[..., None]
    return np.where((v > 0.5)[..., None], earth, picture)


def _houses(picture: np.ndarray, rng: np.random.Generator, lowest: float, night: bool) -> np.ndarray:
    """Blocks with rows of windows along the horizon."""
    column = 0
    while column < WIDTH:
        width = int(rng.integers(12, 44))
        top = int(HEIGHT * (0.5 - rng.uniform(lowest, 0.3)))
        wall = np.full(3, 0.08) if night else rng.uniform(0.5, 0.95) * rng.uniform((0.9, 0.75, 0.66), (1.0, 0.95, 0.9))
        block = picture[top:, column : column + width]
        block[:] = wall
        for row in range(2, block.shape[0] - 3, 6):
            for place in range(2, block.shape[1] - 3, 5):
                pane = (0.1, 0.1, 0.13) if night else (0.16, 0.2, 0.26)
                if night and rng.random() < 0.45:
                    pane = (1.0, 0.85, 0.5)
                block[row : row + 3, place : place + 3] = pane
        column += width + int(rng.integers(0, 6))
    return picture


def _trees(picture: np.ndarray, rng: np.random.Generator, count: int) -> np.ndarray:
    u, v = _grid()
    ragged, shade = (noise(rng, roughness, 1.0, (HEIGHT, WIDTH)) for roughness in (0.4, 0.0))
    for _ in range(count):
        centre, size = rng.uniform(0, WIDTH), rng.uniform(0.08, 0.2)
        across = ((u - centre + WIDTH / 2) % WIDTH - WIDTH / 2) / HEIGHT
        trunk = (np.abs(across) < 0.008) & (v > 0.5 - size) & (v < 0.56)
        crown = np.hypot(across, v - 0.52 + size) < size * (0.75 + 0.5 * ragged)
        picture[trunk] = (0.28, 0.2, 0.14)
        tone = rng.uniform(0.6, 1.2) * rng.uniform((0.2, 0.36, 0.12), (0.34, 0.42, 0.18))
        picture[crown] = tone * (0.7 + 0.6 * shade[crown])[:, None]
    return picture


def _town(rng: np.random.Generator, night: bool) -> np.ndarray:
    if night:
        sky = _sky(rng, (0.02, 0.03, 0.09), (0.12, 0.13, 0.24), 0.05)
        return _houses(_ground(sky, rng, (0.06, 0.06, 0.08)), rng, 0.02, night=True)
    sky = _sky(rng, (0.42, 0.63, 0.92), (0.86, 0.92, 0.98), 0.9)
    return _houses(_ground(sky, rng, (0.45, 0.44, 0.43)), rng, 0.03, night=False)


def _park(rng: np.random.Generator) -> np.ndarray:
    sky = _sky(rng, (0.4, 0.62, 0.93), (0.88, 0.94, 1.0), 0.7)
    return _trees(_ground(sky, rng, (0.36, 0.5, 0.22)), rng, 26)


def _hills(rng: np.random.Generator) -> np.ndarray:
    picture = _sky(rng, (0.5, 0.6, 0.85), (0.98, 0.9, 0.8), 0.6)
    _, v = _grid()
    for layer, tone in enumerate(((0.62, 0.68, 0.76), (0.45, 0.56, 0.5), (0.34, 0.47, 0.27))):
        ridge = 0.36 + 0.06 * layer + 0.16 * (noise(rng, 0.7, 1.0, (HEIGHT, WIDTH))[:1] - 0.5)
        picture = np.where((v > ridge)[..., None], tone, picture)
    return _ground(picture, rng, (0.42, 0.52, 0.28))


def _sea(rng: np.random.Generator) -> np.ndarray:
    picture = _sky(rng, (0.35, 0.6, 0.95), (0.92, 0.95, 0.98), 0.5)
    _, v = _grid()
    waves = np.array((0.15, 0.38, 0.55)) * (0.8 + 0.5 * noise(rng, 0.2, 0.12, (HEIGHT, WIDTH)))[..., None]
    picture = np.where((v > 0.48)[..., None], waves, picture)
    return np.where((v > 0.72)[..., None], (0.85, 0.77, 0.6), picture)


def _yard(rng: np.random.Generator) -> np.ndarray:
    sky = _sky(rng, (0.7, 0.76, 0.84), (0.88, 0.9, 0.92), 0.8)
    return _trees(_houses(_ground(sky, rng, (0.4, 0.42, 0.33)), rng, 0.2, night=False), rng, 5)

"""Textures that cover a surface without end: floors, walls, wood, cloth and stone.

Every function gives [SIZE, SIZE, 3] weights of a material's three colours: main, second, and joints or shadows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bonuslab.envs.habitat.apartments.looks.noise import SIZE, coordinates, lines, mix, noise, smooth_step

Pattern = Callable[[np.random.Generator], np.ndarray]


def plaster(rng: np.random.Generator) -> np.ndarray:
    """Painted wall: almost even."""
    return mix(0.5 * noise(rng, 0.2) + 0.25 * noise(rng, 1.2))


def rough_plaster(rng: np.random.Generator) -> np.ndarray:
    """Trowelled wall: patches and strokes."""
    return mix(smooth_step(0.25, 0.8, noise(rng, 0.7, 2.0)))


def concrete(rng: np.random.Generator) -> np.ndarray:
    """Grey patches with pores."""
    return mix(noise(rng, 1.0), 0.5 * (noise(rng, -0.6) > 0.86))


def planks(rng: np.random.Generator) -> np.ndarray:
    """Floor boards of different tone, staggered."""
    _, v = coordinates()
    grain = noise(rng, 0.6, 9.0)
    tone, joint = np.zeros((SIZE, SIZE)), lines(v, 1 / 8, 0.012)
    columns = np.arange(SIZE)
    for board in range(8):
        rows = slice(board * SIZE // 8, (board + 1) * SIZE // 8)
        offset = int(rng.integers(SIZE))
        half = ((columns + offset) % SIZE) >= SIZE // 2
        tone[rows] = np.where(half, rng.random(), rng.random())
        joint[rows, -offset % SIZE] = joint[rows, (SIZE // 2 - offset) % SIZE] = 1.0
    return mix(0.45 * tone + 0.55 * grain, 0.75 * joint)


def herringbone(rng: np.random.Generator) -> np.ndarray:
    """Parquet of blocks at right angles."""
    block, length = 16, 32
    rows, columns = np.mgrid[0:SIZE, 0:SIZE]
    step = (columns // block + rows // block) % 4
    lying = step < 2
    along = np.where(lying, columns + block * ((rows // block) % 4), rows + block * ((columns // block) % 4 + 2))
    number = np.where(lying, 1000, 0) + (along // length) * 37 + np.where(lying, rows // block, columns // block)
    tones = rng.random(3000)
    tone = tones[number % 3000]
    joint = np.where(lying, rows % block == 0, columns % block == 0) | (along % length == 0)
    fibre = np.where(lying, noise(rng, 0.5, 8.0), noise(rng, 0.5, 8.0).T)
    return mix(0.5 * tone + 0.5 * fibre, 0.6 * joint)


def basket(rng: np.random.Generator) -> np.ndarray:
    """Parquet of square panels with strips that change direction."""
    rows, columns = np.mgrid[0:SIZE, 0:SIZE]
    lying = (rows // 32 + columns // 32) % 2 == 0
    across = np.where(lying, rows, columns) % 32
    number = (rows // 32) * 4 + columns // 32
    tone = rng.random((16, 4))[number, across // 8]
    joint = (across % 8 == 0) | (np.where(lying, columns, rows) % 32 == 0)
    fibre = np.where(lying, noise(rng, 0.5, 8.0), noise(rng, 0.5, 8.0).T)
    return mix(0.5 * tone + 0.5 * fibre, 0.6 * joint)


def tiles(rng: np.random.Generator) -> np.ndarray:
    """Four by four tiles with joints, each slightly different."""
    u, v = coordinates()
    tone = np.kron(rng.random((4, 4)), np.ones((SIZE // 4, SIZE // 4)))
    joint = np.maximum(lines(u, 1 / 4, 0.016), lines(v, 1 / 4, 0.016))
    return mix(0.35 * tone + 0.3 * noise(rng, 0.8), joint)


def checker(rng: np.random.Generator) -> np.ndarray:
    """Tiles of two colours in turn."""
    u, v = coordinates()
    second = ((u * 4).astype(int) + (v * 4).astype(int)) % 2
    joint = np.maximum(lines(u, 1 / 4, 0.01), lines(v, 1 / 4, 0.01))
    return mix(0.92 * second + 0.08 * noise(rng, 0.8), 0.8 * joint)


def metro(rng: np.random.Generator) -> np.ndarray:
    """Oblong wall tiles in a running bond."""
    u, v = coordinates()
    row = (v * 8).astype(int)
    shifted = u + 0.125 * (row % 2)
    joint = np.maximum(lines(v, 1 / 8, 0.014), lines(shifted, 1 / 4, 0.01))
    tone = rng.random((8, 4))[row, (shifted * 4).astype(int) % 4]
    return mix(0.6 * tone, joint)


def mosaic(rng: np.random.Generator) -> np.ndarray:
    """Small square tiles in three colours."""
    u, v = coordinates()
    pick = np.kron(rng.random((16, 16)), np.ones((8, 8)))
    joint = np.maximum(lines(u, 1 / 16, 0.012), lines(v, 1 / 16, 0.012))
    return mix(smooth_step(0.2, 0.9, pick), 0.7 * joint)


def brick(rng: np.random.Generator) -> np.ndarray:
    """A wall of bricks."""
    u, v = coordinates()
    row = (v * 12).astype(int)
    shifted = u + 0.125 * (row % 2)
    joint = np.maximum(lines(v, 1 / 12, 0.018), lines(shifted, 1 / 4, 0.014))
    tone = rng.random((12, 4))[row, (shifted * 4).astype(int) % 4]
    return mix(0.6 * tone + 0.4 * noise(rng, 0.2), joint)


def stripes(rng: np.random.Generator) -> np.ndarray:
    """Striped wallpaper."""
    u, _ = coordinates()
    wide = smooth_step(-0.15, 0.15, np.sin(2 * np.pi * 4 * u))
    return mix(wide, 0.5 * lines(u + 0.125, 1 / 4, 0.012))


def damask(rng: np.random.Generator) -> np.ndarray:
    """Wallpaper with curled ornaments."""
    u, v = coordinates()
    x, y = 2 * np.pi * 2 * u, 2 * np.pi * 2 * v
    curl = np.cos(x) * np.cos(y) + 0.6 * np.cos(2 * x + np.sin(2 * y)) + 0.5 * np.sin(3 * y) * np.sin(x)
    return mix(smooth_step(0.15, 0.4, np.abs(curl)) * 0.9, 0.35 * smooth_step(1.2, 1.5, np.abs(curl)))


def flowers(rng: np.random.Generator) -> np.ndarray:
    """Wallpaper with scattered blossoms and leaves."""
    u, v = coordinates()
    second, third = np.zeros((SIZE, SIZE)), np.zeros((SIZE, SIZE))
    for _ in range(14):
        du, dv = ((u - rng.random() + 0.5) % 1) - 0.5, ((v - rng.random() + 0.5) % 1) - 0.5
        radius, angle, petals = np.hypot(du, dv), np.arctan2(dv, du), int(rng.integers(4, 7))
        bloom = radius < (0.05 + 0.025 * np.cos(petals * angle)) * (0.7 + 0.5 * rng.random())
        second = np.where(bloom, 1.0, second)
        third = np.where(radius < 0.016, 1.0, third)
        leaf = (np.abs(radius - 0.08) < 0.012) & (np.cos(2 * angle + rng.random() * 6) > 0.6)
        third = np.where(leaf & ~bloom, 0.7, third)
    return mix(second, third)


def wood(rng: np.random.Generator) -> np.ndarray:
    """Furniture wood, the grain along the rows."""
    _, v = coordinates()
    wave = noise(rng, 1.1, 5.0)
    rings = 0.5 + 0.5 * np.sin(2 * np.pi * (6 * v + 2.5 * wave))
    return mix(0.5 * rings + 0.5 * noise(rng, 0.4, 10.0), 0.25 * (noise(rng, 0.0, 14.0) > 0.75))


def weave(rng: np.random.Generator) -> np.ndarray:
    """Coarse cloth."""
    rows, columns = np.mgrid[0:SIZE, 0:SIZE]
    thread = np.where((rows // 2 + columns // 2) % 2 == 0, rows % 2, columns % 2)
    return mix(0.45 * thread + 0.45 * noise(rng, 0.3), 0.12 * ((rows % 4 == 0) | (columns % 4 == 0)))


def tartan(rng: np.random.Generator) -> np.ndarray:
    """Checked cloth."""
    u, v = coordinates()
    bands = [0.5 * lines(axis, 1 / 2, 0.2) + 0.3 * lines(axis + 0.17, 1 / 2, 0.05) for axis in (u, v)]
    fine = [lines(axis + 0.08, 1 / 4, 0.014) for axis in (u, v)]
    return mix(bands[0] + bands[1] + 0.1 * noise(rng, 0.0), 0.6 * np.maximum(*fine))


def quilt(rng: np.random.Generator) -> np.ndarray:
    """Padded lozenges with seams."""
    u, v = coordinates()
    a, b = (u + v) * 4, (u - v) * 4
    pad = np.abs(np.sin(np.pi * a) * np.sin(np.pi * b))
    seam = np.minimum(np.abs(np.sin(np.pi * a)), np.abs(np.sin(np.pi * b))) < 0.12
    return mix(0.7 * pad + 0.15 * noise(rng, 0.2), 0.5 * seam)


def carpet(rng: np.random.Generator) -> np.ndarray:
    """Deep pile."""
    return mix(0.55 * noise(rng, -0.4) + 0.45 * noise(rng, 0.9), 0.3 * (noise(rng, -0.5) > 0.8))


def marble(rng: np.random.Generator) -> np.ndarray:
    """Stone with veins."""
    cloud, vein = noise(rng, 1.3), noise(rng, 0.9)
    return mix(cloud * 0.7, smooth_step(0.93, 1.0, 1 - 2 * np.abs(vein - 0.5)) * 0.7)


def metal(rng: np.random.Generator) -> np.ndarray:
    """Brushed steel."""
    return mix(0.6 * noise(rng, -0.2, 16.0) + 0.4 * noise(rng, 1.2))


def leather(rng: np.random.Generator) -> np.ndarray:
    """Grained leather."""
    grain = noise(rng, 0.1)
    return mix(0.6 * noise(rng, 1.2) + 0.2 * grain, 0.35 * (np.abs(grain - 0.5) < 0.03))


def folds(rng: np.random.Generator) -> np.ndarray:
    """Hanging cloth."""
    u, _ = coordinates()
    wave = 0.5 + 0.5 * np.sin(2 * np.pi * 5 * u + 1.2 * np.sin(2 * np.pi * 2 * u))
    return mix(wave, 0.6 * smooth_step(0.8, 1.0, 1 - wave))


PATTERNS: dict[str, Pattern] = {
    function.__name__: function
    for function in (
        plaster, rough_plaster, concrete, planks, herringbone, basket, tiles, checker, metro, mosaic, brick, stripes,
        damask, flowers, wood, weave, tartan, quilt, carpet, marble, metal, leather, folds,
    )
}  # fmt: skip

"""Textures that fill one face: fronts of furniture, book rows, rugs, leaves, screens and paintings.

Fronts are weights of a material's three colours as in `patterns`; paintings are red, green and blue themselves.
"""

from __future__ import annotations

import numpy as np

from bonuslab.envs.habitat.apartments.looks.noise import SIZE, coordinates, mix, noise, smooth_step
from bonuslab.envs.habitat.apartments.looks.patterns import Pattern

NUM_PAINTINGS = 12


def _grain(rng: np.random.Generator) -> np.ndarray:
    return 0.35 * noise(rng, 0.5, 8.0)


def _frame(inset: float, thickness: float, box: tuple[float, float, float, float] = (0, 0, 1, 1)) -> np.ndarray:
    """A rectangular line inside `box` = (left, top, right, bottom)."""
    u, v = coordinates()
    left, top, right, bottom = box
    edge = np.minimum(np.minimum(u - left, right - u), np.minimum(v - top, bottom - v))
    return ((edge > inset) & (edge < inset + thickness)).astype(float)


def _spot(u0: float, v0: float, width: float, height: float) -> np.ndarray:
    u, v = coordinates()
    return ((np.abs(u - u0) < width / 2) & (np.abs(v - v0) < height / 2)).astype(float)


def drawers(rng: np.random.Generator) -> np.ndarray:
    """Three drawers with handles."""
    third = np.zeros((SIZE, SIZE))
    for row in range(3):
        box = (0.0, row / 3, 1.0, (row + 1) / 3)
        third = np.maximum(third, 0.7 * _frame(0.015, 0.02, box))
        third = np.maximum(third, _spot(0.5, (row + 0.5) / 3, 0.26, 0.03))
    return mix(_grain(rng), third)


def doors(rng: np.random.Generator) -> np.ndarray:
    """Two cupboard doors with handles."""
    third = np.maximum(_frame(0.01, 0.018, (0, 0, 0.5, 1)), _frame(0.01, 0.018, (0.5, 0, 1, 1))) * 0.7
    third = np.maximum(third, np.maximum(_spot(0.44, 0.4, 0.025, 0.2), _spot(0.56, 0.4, 0.025, 0.2)))
    return mix(_grain(rng), third)


def panelled_door(rng: np.random.Generator) -> np.ndarray:
    """A room door: four panels and a handle."""
    second = _grain(rng)
    third = np.zeros((SIZE, SIZE))
    for left, top, right, bottom in (
        (0.1, 0.06, 0.47, 0.45),
        (0.53, 0.06, 0.9, 0.45),
        (0.1, 0.55, 0.47, 0.94),
        (0.53, 0.55, 0.9, 0.94),
    ):
        third = np.maximum(third, 0.45 * _frame(0.0, 0.02, (left, top, right, bottom)))
        second = np.maximum(second, 0.6 * _frame(0.02, 0.02, (left, top, right, bottom)))
    return mix(second, np.maximum(third, _spot(0.93, 0.52, 0.08, 0.02)))


def oven(rng: np.random.Generator) -> np.ndarray:
    """Knobs above a dark window."""
    u, v = coordinates()
    window = _spot(0.5, 0.62, 0.76, 0.5)
    third = np.maximum(window * (0.85 + 0.15 * u), _spot(0.5, 0.27, 0.8, 0.03))
    for column in range(5):
        third = np.maximum(third, (np.hypot(u - 0.18 - 0.16 * column, v - 0.12) < 0.045).astype(float))
    return mix(0.3 * noise(rng, 1.0), third)


def fridge(rng: np.random.Generator) -> np.ndarray:
    """Two doors, one above the other."""
    third = np.maximum(
        _spot(0.5, 0.36, 1.0, 0.012), np.maximum(_spot(0.1, 0.24, 0.03, 0.16), _spot(0.1, 0.55, 0.03, 0.28))
    )
    return mix(0.35 * noise(rng, 1.4), third)


def washer(rng: np.random.Generator) -> np.ndarray:
    """A round window below a row of buttons."""
    u, v = coordinates()
    radius = np.hypot(u - 0.5, v - 0.58)
    third = smooth_step(-0.28, -0.26, -radius) * 0.9
    second = ((radius < 0.33) & (radius > 0.27)).astype(float)
    return mix(second, np.maximum(third, np.maximum(_spot(0.78, 0.13, 0.22, 0.08), _spot(0.2, 0.13, 0.2, 0.05))))


def books(rng: np.random.Generator) -> np.ndarray:
    """Four shelves of books with gaps."""
    weights = np.zeros((SIZE, SIZE, 3))
    weights[..., 2] = 0.35
    shelf = SIZE // 4
    for row in range(4):
        column = 2
        while column < SIZE - 4:
            width = int(rng.integers(3, 8))
            if rng.random() < 0.1:
                column += int(rng.integers(6, 18))
                continue
            height = int(shelf * rng.uniform(0.6, 0.86))
            top, right = (row + 1) * shelf - 3 - height, min(column + width, SIZE - 2)
            tone = rng.dirichlet((0.6, 0.6, 0.6)) * rng.uniform(0.55, 1.15)
            weights[top : (row + 1) * shelf - 3, column:right] = tone
            weights[top + 3 : top + 5, column:right] = np.clip(tone + 0.3, 0, 1)
            weights[top : (row + 1) * shelf - 3, column] *= 0.5
            column = right
        weights[(row + 1) * shelf - 3 : (row + 1) * shelf] = (0.75, 0.0, 0.0)
    weights[:, :2] = weights[:, -2:] = (0.75, 0.0, 0.0)
    return np.clip(weights, 0.01, 1)


def radiator(rng: np.random.Generator) -> np.ndarray:
    """Ribs."""
    u, v = coordinates()
    rib = 0.5 + 0.5 * np.cos(2 * np.pi * 12 * u)
    return mix(1 - rib, 0.5 * (rib < 0.15) * (np.abs(v - 0.5) < 0.45))


def screen(rng: np.random.Generator) -> np.ndarray:
    """A dark screen that reflects a little, in a frame."""
    u, v = coordinates()
    shine = smooth_step(0.6, 1.0, 1 - np.abs(u + 0.6 * v - 0.8) * 2.2)
    return mix(0.5 * shine + 0.1 * (1 - v), _frame(0.0, 0.025))


def mirror(rng: np.random.Generator) -> np.ndarray:
    """Slanted light on glass."""
    u, v = coordinates()
    shine = np.maximum(
        smooth_step(0.7, 1.0, 1 - np.abs(u - v) * 3), smooth_step(0.85, 1.0, 1 - np.abs(u - v - 0.35) * 4)
    )
    return mix(0.7 * shine + 0.3 * v, 0.9 * _frame(0.0, 0.03))


def sheets(rng: np.random.Generator) -> np.ndarray:
    """Bed linen: a pale turned-down edge above a patterned blanket."""
    u, v = coordinates()
    crease = 0.25 * noise(rng, 1.0)
    blanket = v > 0.3
    squares = 0.5 * (((u * 6).astype(int) + (v * 6).astype(int)) % 2)
    return mix(np.where(blanket, 0.55 + 0.4 * squares, 0.0) + crease * blanket, np.where(blanket, 0.0, 0.75 - crease))


def persian(rng: np.random.Generator) -> np.ndarray:
    """A rug with borders and a medallion."""
    u, v = coordinates()
    edge = np.minimum(np.minimum(u, 1 - u), np.minimum(v, 1 - v))
    x, y = np.abs(u - 0.5), np.abs(v - 0.5)
    ornament = np.cos(40 * x) * np.cos(40 * y) + np.cos(28 * (x + y)) + np.cos(28 * (x - y))
    second = np.where(
        edge < 0.14, smooth_step(0.0, 0.6, np.cos(60 * edge) + 0.5 * ornament), smooth_step(0.5, 1.2, ornament)
    )
    medal = (x / 0.22 + y / 0.3) < 1
    second = np.where(medal, 1 - second, second)
    third = ((edge < 0.02) | (np.abs(edge - 0.14) < 0.012) | (np.abs(x / 0.22 + y / 0.3 - 1) < 0.06)).astype(float)
    return mix(second, 0.85 * third)


def banded_rug(rng: np.random.Generator) -> np.ndarray:
    """A rug with bands of different width."""
    _, v = coordinates()
    edges = np.sort(rng.random(12))
    tone = rng.random(13)[np.searchsorted(edges, v)]
    return mix(smooth_step(0.3, 0.7, tone), 0.5 * (tone > 0.8) + 0.1 * noise(rng, -0.3))


def ringed_rug(rng: np.random.Generator) -> np.ndarray:
    """A rug with circles."""
    u, v = coordinates()
    radius = np.hypot((u * 2) % 1 - 0.5, (v * 2) % 1 - 0.5)
    return mix(smooth_step(-0.2, 0.2, np.sin(26 * radius)), 0.8 * (radius < 0.08))


def leaves(rng: np.random.Generator) -> np.ndarray:
    """Long leaves that spread from the bottom; black is nothing at all."""
    u, v = coordinates()
    weights = np.zeros((SIZE, SIZE, 3))
    for angle in np.linspace(-1.15, 1.15, 13) + rng.normal(0, 0.08, 13):
        length = rng.uniform(0.6, 0.98)
        along = (1 - v) * np.cos(angle) + (u - 0.5) * np.sin(angle)
        across = (u - 0.5) * np.cos(angle) - (1 - v) * np.sin(angle) + 0.25 * np.sign(angle) * along**2 * 0.4
        inside = (
            (np.abs(across) < 0.05 * np.sin(np.pi * np.clip(along / length, 0, 1)) + 0.006)
            & (along > 0)
            & (along < length)
        )
        shade = np.clip(0.35 + 0.6 * along + rng.normal(0, 0.1), 0.1, 1)
        tone = mix(shade, 0.5 * (np.abs(across) < 0.006))
        weights[inside] = tone[inside]
    return weights


def foliage(rng: np.random.Generator) -> np.ndarray:
    """A bush of round leaves; black is nothing at all."""
    u, v = coordinates()
    weights = np.zeros((SIZE, SIZE, 3))
    for _ in range(150):
        angle, radius = rng.uniform(0, 2 * np.pi), 0.42 * np.sqrt(rng.random())
        u0, v0 = 0.5 + radius * np.cos(angle), 0.45 + radius * np.sin(angle)
        turn = rng.uniform(0, np.pi)
        du, dv = u - u0, v - v0
        a, b = du * np.cos(turn) + dv * np.sin(turn), dv * np.cos(turn) - du * np.sin(turn)
        inside = (a / 0.06) ** 2 + (b / 0.032) ** 2 < 1
        shade = np.full((SIZE, SIZE), np.clip(0.9 - 0.8 * v0 + rng.normal(0, 0.15), 0.05, 1))
        weights[inside] = mix(shade, 0.4 * (np.abs(b) < 0.005))[inside]
    weights[(np.abs(u - 0.5) < 0.02) & (v > 0.6) & (weights.sum(-1) == 0)] = (0.2, 0.0, 0.8)
    return weights


def slats(rng: np.random.Generator) -> np.ndarray:
    """Upright bars with gaps; black is nothing at all."""
    u, v = coordinates()
    solid = ((u * 7) % 1 < 0.36) | (v < 0.12) | (v > 0.94)
    return mix(_grain(rng) + 0.3) * solid[..., None]


def painting(rng: np.random.Generator) -> np.ndarray:
    """One of several kinds of picture, in a frame."""
    draw = (_landscape, _abstract, _blocks, _still_life, _portrait)[int(rng.integers(5))]
    picture = np.clip(draw(rng) + 0.06 * (noise(rng, 0.0)[..., None] - 0.5), 0.02, 1)
    border = _frame(0.0, 0.05) > 0
    mount = (_frame(0.05, 0.05) > 0) & (rng.random() < 0.5)
    picture[mount] = (0.93, 0.92, 0.88)
    picture[border] = ((0.1, 0.09, 0.08), (0.55, 0.4, 0.2), (0.85, 0.84, 0.82))[int(rng.integers(3))]
    return picture


def _landscape(rng: np.random.Generator) -> np.ndarray:
    u, v = coordinates()
    sky, glow = rng.uniform((0.3, 0.5, 0.7), (0.6, 0.75, 0.95)), rng.uniform((0.8, 0.6, 0.5), (1, 0.9, 0.75))
    picture = sky + (glow - sky) * smooth_step(0.0, 0.65, v)[..., None]
    disc = np.hypot(u - rng.uniform(0.2, 0.8), v - rng.uniform(0.15, 0.4)) < rng.uniform(0.04, 0.1)
    picture[disc] = (1.0, 0.95, 0.8)
    for layer in range(4):
        ridge = 0.42 + 0.13 * layer + 0.12 * (noise(rng, 0.8)[0][None, :] - 0.5)
        tone = rng.uniform((0.1, 0.25, 0.15), (0.4, 0.5, 0.35)) * (1.2 - 0.2 * layer)
        picture = np.where((v > ridge)[..., None], tone, picture)
    return picture


def _abstract(rng: np.random.Generator) -> np.ndarray:
    tones = rng.random((4, 3))
    field = noise(rng, 1.2)
    picture = tones[np.digitize(field, (0.35, 0.5, 0.65))]
    line = np.abs(noise(rng, 1.3) - 0.5) < 0.012
    picture[line] = 0.05
    return picture


def _blocks(rng: np.random.Generator) -> np.ndarray:
    u, v = coordinates()
    columns, rows = np.sort(rng.random(3)), np.sort(rng.random(3))
    cell = np.searchsorted(columns, u) * 4 + np.searchsorted(rows, v)
    tones = np.array(
        [(0.94, 0.94, 0.92)] * 8 + [(0.8, 0.1, 0.1), (0.1, 0.2, 0.6), (0.95, 0.8, 0.1), (0.15, 0.15, 0.15)]
    )
    picture = tones[rng.integers(12, size=16)][cell]
    for edge in columns:
        picture[np.abs(u - edge) < 0.015] = 0.05
    for edge in rows:
        picture[np.abs(v - edge) < 0.015] = 0.05
    return picture


def _still_life(rng: np.random.Generator) -> np.ndarray:
    u, v = coordinates()
    picture = np.where((v > 0.68)[..., None], rng.uniform(0.25, 0.6, 3), rng.uniform(0.5, 0.9, 3))
    vase = (np.abs(u - 0.5) < 0.1 + 0.05 * np.sin(9 * v)) & (v > 0.52) & (v < 0.84)
    for _ in range(9):
        u0, v0, radius = rng.uniform(0.28, 0.72), rng.uniform(0.15, 0.5), rng.uniform(0.05, 0.1)
        stem = (np.abs(u - (u0 + (0.5 - u0) * smooth_step(v0, 0.55, v))) < 0.008) & (v > v0) & (v < 0.55)
        picture[stem] = (0.2, 0.4, 0.2)
        picture[np.hypot(u - u0, v - v0) < radius] = rng.uniform((0.5, 0.1, 0.2), (1, 0.7, 0.8))
        picture[np.hypot(u - u0, v - v0) < radius * 0.35] = (0.95, 0.8, 0.3)
    picture[vase] = rng.uniform(0.2, 0.8, 3)
    return picture


def _portrait(rng: np.random.Generator) -> np.ndarray:
    u, v = coordinates()
    picture = (
        np.broadcast_to(rng.uniform(0.15, 0.6, 3), (SIZE, SIZE, 3))
        * (1.15 - 0.5 * np.hypot(u - 0.5, v - 0.4))[..., None]
    )
    picture[(np.hypot((u - 0.5) / 1.5, v - 1.02) < 0.3)] = rng.uniform(0.05, 0.7, 3)
    picture[np.hypot((u - 0.5) / 0.95, v - 0.4) < 0.22] = rng.uniform(0.05, 0.4, 3)
    face = np.array((0.95, 0.76, 0.63)) * rng.uniform(0.5, 1.0)
    picture[(np.abs(u - 0.5) < 0.06) & (v > 0.5) & (v < 0.75)] = face * 0.85
    picture[np.hypot((u - 0.5) / 0.75, v - 0.45) < 0.2] = face
    for side in (-1, 1):
        picture[np.hypot(u - 0.5 - 0.06 * side, v - 0.42) < 0.018] = 0.1
    picture[(np.abs(u - 0.5) < 0.05) & (np.abs(v - 0.55) < 0.008)] = (0.6, 0.2, 0.2)
    return picture


PICTURES: dict[str, Pattern] = {
    function.__name__: function
    for function in (
        drawers, doors, panelled_door, oven, fridge, washer, books, radiator, screen, mirror, sheets, persian,
        banded_rug, ringed_rug, leaves, foliage, slats,
    )
}  # fmt: skip
PAINTINGS: dict[str, Pattern] = {f"painting{number}": painting for number in range(NUM_PAINTINGS)}
CUTOUTS = ("leaves", "foliage", "slats")
"""Pictures with holes: where all three weights are zero, the ray goes on."""

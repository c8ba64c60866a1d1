"""Samples the rooms of an apartment: its outline and how it is divided."""

from __future__ import annotations

from itertools import accumulate, pairwise
from random import Random

from bonuslab.envs.habitat.apartments.plan import Axis, Rectangle

SMALLEST_SIDE = 2.0
"""Metres: no room is narrower, except halls."""
FEWEST_ROOMS = 5


def draw_rooms(rng: Random) -> tuple[list[Rectangle], set[int]]:
    """The rooms of a random apartment, and the indices of its halls."""
    rooms: list[Rectangle] = []
    while len(rooms) < FEWEST_ROOMS:
        draw = rng.choices((_corridor, _corridor_and_end, _divided, _wings, _courtyard), (24, 26, 22, 18, 10))[0]
        rooms, halls = draw(rng)
    turn, flip_x, flip_z = (rng.random() < 0.5 for _ in range(3))
    moved = [_turned(room) if turn else room for room in rooms]
    moved = [Rectangle(-room.x1, room.z0, -room.x0, room.z1) if flip_x else room for room in moved]
    moved = [Rectangle(room.x0, -room.z1, room.x1, -room.z0) if flip_z else room for room in moved]
    x0, z0 = min(room.x0 for room in moved), min(room.z0 for room in moved)
    placed = [Rectangle(*(_snap(v) for v in (r.x0 - x0, r.z0 - z0, r.x1 - x0, r.z1 - z0))) for r in moved]
    return placed, halls


def _corridor(rng: Random) -> tuple[list[Rectangle], set[int]]:
    """A hall along the middle with rooms on both sides."""
    width, depth = rng.uniform(9.5, 14.0), rng.uniform(7.6, 10.5)
    return _along_a_hall(rng, Rectangle(0, 0, _snap(width), _snap(depth)))


def _corridor_and_end(rng: Random) -> tuple[list[Rectangle], set[int]]:
    """A large room over the full depth, and a hall with rooms next to it."""
    width, depth = rng.uniform(10.0, 14.5), rng.uniform(7.4, 9.5)
    cut = _snap(rng.uniform(3.8, 5.2))
    end = Rectangle(0, 0, cut, _snap(depth))
    rooms, halls = _along_a_hall(rng, Rectangle(cut, 0, _snap(width), _snap(depth)))
    if rng.random() < 0.35:
        return [*rooms, *_halves(end, 1, rng.uniform(0.4, 0.6))], halls
    return [*rooms, end], halls


def _divided(rng: Random) -> tuple[list[Rectangle], set[int]]:
    """Divided recursively: rooms open into each other."""
    outline = Rectangle(0, 0, _snap(rng.uniform(7.5, 12.0)), _snap(rng.uniform(7.0, 10.0)))
    return _cut(rng, outline, rng.uniform(11.0, 19.0)), set()


def _wings(rng: Random) -> tuple[list[Rectangle], set[int]]:
    """An L: a hall with rooms, and a wing."""
    main = Rectangle(0, 0, _snap(rng.uniform(8.5, 11.5)), _snap(rng.uniform(7.2, 9.0)))
    rooms, halls = _along_a_hall(rng, main)
    side = _snap(rng.uniform(3.2, 4.8))
    wing = Rectangle(main.x1 - side, main.z1, main.x1, _snap(main.z1 + rng.uniform(3.2, 6.0)))
    return [*rooms, *_cut(rng, wing, rng.uniform(9.0, 16.0))], halls


def _courtyard(rng: Random) -> tuple[list[Rectangle], set[int]]:
    """A U: three wings around a courtyard outside the apartment."""
    width, depth, arm = rng.uniform(11.0, 14.0), rng.uniform(3.4, 4.4), rng.uniform(3.2, 4.2)
    x1, z1, a = _snap(width), _snap(depth), _snap(arm)
    low = _snap(z1 + rng.uniform(3.0, 5.5))
    other = _snap(z1 + rng.uniform(3.0, 5.5))
    parts = (Rectangle(0, 0, x1, z1), Rectangle(0, z1, a, low), Rectangle(x1 - a, z1, x1, other))
    return [room for part in parts for room in _cut(rng, part, rng.uniform(11.0, 17.0))], set()


def _along_a_hall(rng: Random, outline: Rectangle) -> tuple[list[Rectangle], set[int]]:
    """A hall along x, and rooms above and below it. The hall is room 0."""
    hall = rng.uniform(1.3, 1.8)
    start = _snap(outline.z0 + rng.uniform(0.42, 0.58) * (outline.depth - hall))
    end = _snap(start + hall)
    rooms = [Rectangle(outline.x0, start, outline.x1, end)]
    for z0, z1 in ((outline.z0, start), (end, outline.z1)):
        edges = _spread(rng, outline.x0, outline.x1)
        rooms += [Rectangle(x0, z0, x1, z1) for x0, x1 in pairwise(edges)]
    return rooms, {0}


def _spread(rng: Random, low: float, high: float) -> list[float]:
    """Edges of rooms of different widths, side by side."""
    count = max(1, round((high - low) / rng.uniform(2.9, 4.1)))
    shares = [rng.uniform(0.7, 1.4) for _ in range(count)]
    inner = [low + share / sum(shares) * (high - low) for share in accumulate(shares[:-1])]
    edges = [low, *(_snap(edge) for edge in inner), high]
    if min(b - a for a, b in pairwise(edges)) < SMALLEST_SIDE:
        return _spread(rng, low, high)
    return edges


def _cut(rng: Random, part: Rectangle, largest: float) -> list[Rectangle]:
    """Divide the longer side until rooms have at most about `largest` square metres."""
    axis: Axis = 0 if part.width > part.depth else 1
    longer = max(part.width, part.depth)
    if longer < 2 * SMALLEST_SIDE + 0.6 or part.area < largest * rng.uniform(0.75, 1.3):
        return [part]
    share = rng.uniform(max(0.33, SMALLEST_SIDE / longer), min(0.67, 1 - SMALLEST_SIDE / longer))
    return [room for half in _halves(part, axis, share) for room in _cut(rng, half, largest)]


def _halves(part: Rectangle, axis: Axis, share: float) -> list[Rectangle]:
    edge = _snap(part.low(axis) + share * (part.high(axis) - part.low(axis)))
    if axis == 0:
        return [Rectangle(part.x0, part.z0, edge, part.z1), Rectangle(edge, part.z0, part.x1, part.z1)]
    return [Rectangle(part.x0, part.z0, part.x1, edge), Rectangle(part.x0, edge, part.x1, part.z1)]


def _turned(room: Rectangle) -> Rectangle:
    return Rectangle(room.z0, room.x0, room.z1, room.x1)


def _snap(value: float) -> float:
    """Round to decimetres, so that equal edges are exactly equal."""
    return round(value * 10) / 10

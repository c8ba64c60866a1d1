"""Plans an apartment: what each room is, where doors connect rooms, and where windows are."""

from __future__ import annotations

from random import Random

from bonuslab.envs.habitat.apartments.layout import draw_rooms
from bonuslab.envs.habitat.apartments.plan import ApartmentPlan, Opening, Rectangle, RoomKind, Wall, walls_around

DOOR_TOP = 2.05
_FROM_CORNER = 0.25
"""Minimum metres between a door and the end of its wall."""
_SHORTEST_WALL = 1.45
_DEAD_ENDS = (RoomKind.BATHROOM, RoomKind.STORE)
"""Rooms that lead nowhere."""
_OPEN = (RoomKind.LIVING, RoomKind.KITCHEN, RoomKind.DINING, RoomKind.HALL)
"""Rooms that may be connected by a wide passage without a door."""
_OTHERS = (RoomKind.STUDY, RoomKind.DINING, RoomKind.STORE, RoomKind.BEDROOM)
"""Kinds for the rooms that remain once the mandatory ones are assigned."""


def draw_plan(rng: Random) -> ApartmentPlan:
    """A random apartment plan, in which all rooms are connected."""
    rooms, halls = draw_rooms(rng)
    walls = walls_around(rooms)
    plan = ApartmentPlan(rooms, _kinds(rng, rooms, halls, walls), walls, ceiling=rng.choice([2.4, 2.5, 2.6, 2.8, 3.1]))
    for wall in _connecting_walls(rng, plan):
        wall.openings.append(_doorway(rng, plan, wall))
    for wall in plan.walls:
        if wall.is_outer:
            _put_windows(rng, plan, wall)
    return plan


def _kinds(rng: Random, rooms: list[Rectangle], halls: set[int], walls: list[Wall]) -> list[RoomKind]:
    """Halls, living room, kitchen and bathrooms first, then the rest."""
    kinds: dict[int, RoomKind] = dict.fromkeys(halls, RoomKind.HALL)
    by_size = sorted((number for number in range(len(rooms)) if number not in halls), key=lambda n: -rooms[n].area)
    living = by_size[0]
    kinds[living] = RoomKind.LIVING
    rest = [number for number in by_size if number != living]
    beside = [n for n in rest if any({n, living} <= set(w.sides) and w.high - w.low > _SHORTEST_WALL for w in walls)]
    if rest:
        kitchen = min(beside or rest, key=lambda n: abs(rooms[n].area - rng.uniform(8, 14)))
        kinds[kitchen] = RoomKind.KITCHEN
    rest = [number for number in rest if number not in kinds]
    for _ in range(1 + (len(rest) > 4)):
        if rest:
            kinds[rest.pop()] = RoomKind.BATHROOM
    for place, number in enumerate(rest):
        if rooms[number].area < 5.5:
            kinds[number] = RoomKind.STORE
        elif place < 1 or rng.random() < 0.45:
            kinds[number] = RoomKind.BEDROOM
        else:
            kinds[number] = rng.choices(_OTHERS, (40, 25, 10, 25))[0]
    return [kinds[number] for number in range(len(rooms))]


def _connecting_walls(rng: Random, plan: ApartmentPlan) -> list[Wall]:
    """Walls to open so that all rooms are connected, and a few more that create loops."""
    inner = [wall for wall in plan.walls if not wall.is_outer]
    long_enough = [wall for wall in inner if wall.high - wall.low >= _SHORTEST_WALL]
    order = sorted(long_enough, key=lambda wall: (_reluctance(plan, wall), rng.random()))
    group = list(range(len(plan.rooms)))
    chosen = []
    for wall in order:
        a, b = (group[side] for side in wall.sides if side is not None)
        if a != b:
            group = [a if member == b else member for member in group]
            chosen.append(wall)
    if len(set(group)) > 1:
        raise AssertionError("the rooms of an apartment are not connected")
    for wall in order:
        if wall not in chosen and _reluctance(plan, wall) < 2 and rng.random() < 0.3:
            chosen.append(wall)
    return chosen


def _reluctance(plan: ApartmentPlan, wall: Wall) -> int:
    """How unusual a door in this wall would be."""
    kinds = [plan.kinds[side] for side in wall.sides if side is not None]
    if RoomKind.HALL in kinds:
        return 0
    if any(kind in _DEAD_ENDS for kind in kinds):
        return 3
    if all(kind in _OPEN for kind in kinds):
        return 0
    return 1 if RoomKind.LIVING in kinds else 2


def _doorway(rng: Random, plan: ApartmentPlan, wall: Wall) -> Opening:
    kinds = [plan.kinds[side] for side in wall.sides if side is not None]
    length = wall.high - wall.low
    if all(kind in _OPEN for kind in kinds) and length > 2.2 and rng.random() < 0.65:
        width = min(length - 0.6, rng.uniform(1.3, 2.4))
        low = wall.low + rng.uniform(0.3, length - width - 0.3)
        return Opening("passage", low, low + width, 0.0, rng.choice([DOOR_TOP, 2.2]))
    width = rng.uniform(0.85, 0.98)
    room = length - width - 2 * _FROM_CORNER
    share = rng.uniform(*rng.choices(((0.0, 0.15), (0.85, 1.0), (0.0, 1.0)), (40, 40, 20))[0])
    low = wall.low + _FROM_CORNER + share * room
    return Opening("door", low, low + width, 0.0, DOOR_TOP)


def _put_windows(rng: Random, plan: ApartmentPlan, wall: Wall) -> None:
    """Windows in an outer wall, by the kind of room behind it."""
    room = next(side for side in wall.sides if side is not None)
    kind, length = plan.kinds[room], wall.high - wall.low
    if kind is RoomKind.STORE or length < 1.3 or rng.random() < 0.12:
        return
    if kind is RoomKind.BATHROOM:
        width, bottom, top = 0.7, 1.45, 2.05
    elif kind is RoomKind.LIVING and rng.random() < 0.5:
        width, bottom, top = rng.uniform(1.8, 2.6), rng.choice([0.25, 0.5]), plan.ceiling - 0.25
    else:
        width, bottom = rng.uniform(0.9, 1.7), rng.uniform(0.8, 1.0)
        top = min(plan.ceiling - 0.25, rng.uniform(2.0, 2.3))
    width = min(width, length - 0.7)
    count = max(1, int((length - 0.4) / (width + rng.uniform(0.9, 1.8))))
    gap = (length - count * width) / (count + 1)
    for number in range(count):
        low = wall.low + gap + number * (width + gap)
        wall.openings.append(Opening("window", low, low + width, bottom, top))

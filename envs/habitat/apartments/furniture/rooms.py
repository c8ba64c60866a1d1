"""Which room gets what."""

from __future__ import annotations

import math
from collections.abc import Callable

from bonuslab.envs.habitat.apartments.furniture import decoration, seats, storage, wet_rooms
from bonuslab.envs.habitat.apartments.materials import Taste
from bonuslab.envs.habitat.apartments.placing import RoomFloor
from bonuslab.envs.habitat.apartments.plan import RoomKind


def furnish(floor: RoomFloor, taste: Taste) -> None:
    """Put furniture into one room; what finds no place is left out."""
    _FURNISH[floor.kind](floor, taste)


def hang_lamps(floor: RoomFloor, taste: Taste) -> None:
    """Light for one room."""
    strength = floor.rng.uniform(0.75, 1.1)
    inner = floor.inner
    count = max(1, round(max(inner.width, inner.depth) / 4.5))
    for number in range(count):
        shift = ((number + 0.5) / count - 0.5) * max(inner.width, inner.depth)
        spot = floor.middle().at(shift, 0.0) if inner.width > inner.depth else floor.middle().at(0.0, shift)
        storage.ceiling_lamp(spot, taste, floor.rng, floor.ceiling, strength)


def _living(floor: RoomFloor, taste: Taste) -> None:
    rng = floor.rng
    width = rng.choice([1.6, 2.0, 2.3])
    sofa = floor.against_wall(width, seats.SOFA_DEPTH, before=0.9)
    if sofa:
        seats.sofa(sofa, taste, rng, width)
        if rng.random() < 0.75:
            decoration.rug(floor, sofa.at(0, 1.4), taste, min(width + 0.3, 2.4), 1.6)
        table = floor.beside(sofa, 0.0, 1.55, 1.0, 0.55)
        if table and rng.random() < 0.7:
            seats.table(table, taste.other_wood, taste.wood, 1.0, 0.5, 0.4)
            if rng.random() < 0.5:
                table.cylinder(0.07, 0.2, taste.wooden(taste.second_accent), bottom=0.4)
        elif table:
            seats.round_table(table, taste.other_wood, taste.wood, 0.35, 0.42)
        facing = floor.opposite(sofa)
        board = floor.against_wall(1.5, 0.42, tall=True, before=0.5, wall=facing)
        if board:
            storage.television(board, taste, rng, 1.5)
    for _ in range(rng.randrange(1, 3)):
        chair = floor.against_wall(0.95, 0.9, before=0.4)
        if chair:
            seats.sofa(chair, taste, rng, 0.85)
    if floor.inner.area > 20 and (second := floor.against_wall(1.7, seats.SOFA_DEPTH, before=0.5)):
        seats.sofa(second, taste, rng, 1.6)
    _bookcases(floor, taste, 3)
    if rng.random() < 0.6 and (board := floor.against_wall(1.3, 0.45, before=0.4)):
        storage.cupboard(board, taste, rng, 1.3, 0.8, 0.42)
    _dining(floor, taste, 0.7)
    lamp = floor.against_wall(0.45, 0.45)
    if lamp:
        storage.floor_lamp(lamp.at(0, 0.23), taste)
    decoration.put_plants(floor, taste, 3)
    decoration.hang_paintings(floor, taste, 6)


def _kitchen(floor: RoomFloor, taste: Taste) -> None:
    rng = floor.rng
    spot, width = floor.widest((3.2, 2.6, 2.0), wet_rooms.COUNTER_DEPTH, tall=True, before=0.8)
    if spot:
        wet_rooms.counter(spot, taste, rng, width, with_fridge=True, uppers=True)
    elif spot := floor.against_wall(1.5, wet_rooms.COUNTER_DEPTH, before=0.7):
        wet_rooms.counter(spot, taste, rng, 1.5, with_fridge=True, uppers=False)
    second = floor.against_wall(1.8, wet_rooms.COUNTER_DEPTH, before=0.8)
    if second and rng.random() < 0.8:
        wet_rooms.counter(second, taste, rng, 1.8, with_fridge=False, uppers=False)
    if rng.random() < 0.35 and floor.inner.area > 11:
        block = floor.in_the_open(1.5, 1.4, around=0.75)
        if block:
            wet_rooms.island(block, taste, 1.2)
    _dining(floor, taste, 0.75)
    decoration.put_plants(floor, taste, 1)
    decoration.hang_paintings(floor, taste, 2)


def _dining_room(floor: RoomFloor, taste: Taste) -> None:
    _dining(floor, taste, 1.0)
    for _ in range(2):
        board = floor.against_wall(1.4, 0.45, tall=True)
        if board:
            storage.cupboard(board, taste, floor.rng, 1.4, floor.rng.choice([0.85, 1.9]), 0.42)
    decoration.put_plants(floor, taste, 2)
    decoration.hang_paintings(floor, taste, 4)


def _bedroom(floor: RoomFloor, taste: Taste) -> None:
    rng = floor.rng
    wide = rng.choices((0.95, 1.4, 1.65), (30, 35, 35))[0] if floor.inner.area > 9 else 0.95
    bed, width = floor.widest((wide, 0.95), 2.15, before=0.4)
    if bed:
        if rng.random() < 0.6:
            decoration.rug(floor, bed.at(0.0, 1.9), taste, width + 0.9, 1.5)
        seats.bed(bed, taste, rng, width)
        for side in (-1, 1):
            stand = floor.beside(bed, side * (width / 2 + 0.32), 0.22, 0.46, 0.4)
            if stand:
                decoration.nightstand(stand.at(0, -0.2), taste, rng)
    wardrobe, width = floor.widest((1.8, 1.0), 0.62, tall=True, before=0.5)
    if wardrobe:
        storage.cupboard(wardrobe, taste, rng, width, 2.0, 0.6)
    if rng.random() < 0.5:
        _work_place(floor, taste)
    chest = floor.against_wall(0.95, 0.48, before=0.4)
    if chest and rng.random() < 0.6:
        storage.cupboard(chest, taste, rng, 0.9, 0.8, 0.45)
    decoration.put_plants(floor, taste, 1)
    decoration.hang_paintings(floor, taste, 3)


def _bathroom(floor: RoomFloor, taste: Taste) -> None:
    rng = floor.rng
    if rng.random() < 0.55 and (tub := floor.against_wall(1.72, 0.77, before=0.4)):
        wet_rooms.bathtub(tub, taste)
    elif tray := floor.against_wall(0.92, 0.92, before=0.4):
        wet_rooms.shower(tray, taste)
    if seat := floor.against_wall(0.45, 0.65, before=0.4):
        wet_rooms.toilet(seat)
    stand, width = floor.widest((rng.choice([0.6, 0.9, 1.2]), 0.6), 0.5, tall=True, before=0.4)
    if stand:
        wet_rooms.washstand(stand, taste, rng, width)
    if rng.random() < 0.4 and (machine := floor.against_wall(0.62, 0.62, before=0.3)):
        wet_rooms.washing_machine(machine, taste)
    if bar := floor.on_wall(0.7):
        wet_rooms.towel(bar, taste)
    if rng.random() < 0.7:
        decoration.rug(floor, floor.middle(), taste, 0.9, 0.6)
    if rng.random() < 0.3:
        decoration.put_plants(floor, taste, 1)


def _study(floor: RoomFloor, taste: Taste) -> None:
    _work_place(floor, taste)
    if floor.rng.random() < 0.6:
        decoration.rug(floor, floor.middle(), taste, 1.8, 1.3)
    _bookcases(floor, taste, 4)
    chair = floor.against_wall(0.95, 0.9, before=0.4)
    if chair:
        seats.sofa(chair, taste, floor.rng, 0.85)
    decoration.put_plants(floor, taste, 1)
    decoration.hang_paintings(floor, taste, 3)


def _hall(floor: RoomFloor, taste: Taste) -> None:
    rng, inner = floor.rng, floor.inner
    if rng.random() < 0.7:
        long = max(inner.width, inner.depth) * rng.uniform(0.4, 0.7)
        runner = (long, 0.7) if inner.width > inner.depth else (0.7, long)
        decoration.rug(floor, floor.middle(), taste, *runner)
    for _ in range(2):
        board = floor.against_wall(0.9, 0.34, tall=True, before=0.75)
        if board:
            height = rng.choice([0.8, 1.1, 1.9])
            storage.cupboard(board, taste, rng, 0.9, height, 0.32)
            if height < 1.0 and rng.random() < 0.7:
                wet_rooms.mirror(board, taste, 0.6, 0.8, 1.1)
    decoration.hang_paintings(floor, taste, 5)
    if min(inner.width, inner.depth) > 1.5:
        decoration.put_plants(floor, taste, 1)


def _store(floor: RoomFloor, taste: Taste) -> None:
    rng = floor.rng
    for _ in range(3):
        rack = floor.against_wall(1.2, 0.42, tall=True, before=0.5)
        if rack:
            storage.shelf_with_boxes(rack, taste, rng, 1.15)
    if machine := floor.against_wall(0.62, 0.62, before=0.3):
        wet_rooms.washing_machine(machine, taste)
    for _ in range(rng.randrange(0, 4)):
        spot = floor.against_wall(0.55, 0.55)
        if spot:
            decoration.crate(spot, taste, rng)


def _dining(floor: RoomFloor, taste: Taste, chance: float) -> None:
    """A dining table, the larger the better, if chance will have it and there is room."""
    if floor.rng.random() > chance:
        return
    sizes = [(1.8, 0.9), (1.4, 0.85), (1.1, 1.1), (0.8, 0.8)]
    for width, depth in sizes[floor.rng.randrange(2) :]:
        spot = floor.in_the_open(width + 0.7, depth + 0.7, around=0.4)
        if spot:
            seats.dining_group(spot, taste, floor.rng, width, depth)
            return


def _bookcases(floor: RoomFloor, taste: Taste, most: int) -> None:
    for _ in range(floor.rng.randrange(1, most + 1)):
        width, height = floor.rng.choice([0.8, 1.0, 1.3]), floor.rng.choice([1.1, 1.8, 2.1])
        spot = floor.against_wall(width, 0.34, tall=True, before=0.4)
        if spot:
            storage.bookcase(spot, taste, floor.rng, width, height)


def _work_place(floor: RoomFloor, taste: Taste) -> None:
    width = floor.rng.choice([1.2, 1.5])
    spot = floor.against_wall(width, 0.66, before=0.6)
    if spot:
        storage.desk(spot, taste, floor.rng, width)
        chair = floor.beside(spot, 0.0, 0.95, 0.5, 0.5)
        if chair:
            seats.office_chair(chair.at(0, 0, math.pi + floor.rng.gauss(0, 0.4)), taste)


_FURNISH: dict[RoomKind, Callable[[RoomFloor, Taste], None]] = {
    RoomKind.LIVING: _living,
    RoomKind.KITCHEN: _kitchen,
    RoomKind.DINING: _dining_room,
    RoomKind.BEDROOM: _bedroom,
    RoomKind.BATHROOM: _bathroom,
    RoomKind.STUDY: _study,
    RoomKind.HALL: _hall,
    RoomKind.STORE: _store,
}

"""Our compiler's output equals that of NetHack's compiler, byte for byte."""

from __future__ import annotations

import pytest

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.minihack.levels import LavaCrossing, MultiRoom
from bonuslab.envs.minihack.levels.bytecode import description, map_level
from bonuslab.envs.minihack.levels.compiler import compile_description
from bonuslab.envs.minihack.levels.level import Level

MULTIROOM = [
    MultiRoom(1, 10),
    MultiRoom(2, 4, doors="open"),
    MultiRoom(4, 5, doors="locked"),
    MultiRoom(6, 10, lava=True),
    MultiRoom(6, 10, lava=True, doors="open"),
    MultiRoom(6, 10, lava=True, monsters=3),
    MultiRoom(6, 10, lava=True, doors="locked", monsters=9),
    MultiRoom(10, 10),
]
CROSSINGS = [LavaCrossing(9, 1), LavaCrossing(19, 13), LavaCrossing(19, 17)]


def compiled(level: Level, monsters: int) -> bytes:
    """The level's text compiled by lev_comp."""
    assert level.map is not None
    assert level.start is not None
    assert level.goal is not None
    return compile_description(description(level.map, level.start, level.goal, level.doors, level.door_state, monsters))


@pytest.mark.parametrize("source", MULTIROOM, ids=str)
def test_multiroom_bytes_equal_lev_comps(source: MultiRoom) -> None:
    levels = [source.build(context) for context in range(40)]
    assert all(level.lev == compiled(level, source.monsters) for level in levels)
    assert len({level.lev for level in levels}) == len(levels)


@pytest.mark.parametrize("source", CROSSINGS, ids=str)
def test_lava_crossing_bytes_equal_lev_comps(source: LavaCrossing) -> None:
    assert all(level.lev == compiled(level, 0) for level in map(source.build, range(40)))


def test_bytes_equal_those_of_minihacks_generator() -> None:
    from minihack import LevelGenerator

    for context in range(10):
        level = MultiRoom(6, 10, lava=True, doors="open", monsters=3).build(context)
        assert level.map is not None
        upstream = LevelGenerator(map="\n".join(level.map))
        upstream.add_goal_pos(level.goal)
        upstream.set_start_pos(level.start)
        for door in level.doors:
            upstream.add_door("open", door)
        upstream.wallify()
        for _ in range(3):
            upstream.add_monster()
        assert compile_description(upstream.get_des()) == level.lev


def test_an_unknown_door_state_gets_a_suggestion() -> None:
    with pytest.raises(InvalidInput, match="did you mean closed"):
        map_level(b".." * 2, 2, (0, 0), (1, 1), [(0, 1)], "close")

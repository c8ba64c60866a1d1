"""LavaCrossing maps equal those of minigrid's CrossingEnv, as MiniHack draws them."""

from __future__ import annotations

from collections.abc import MutableSequence
from types import SimpleNamespace
from typing import Any

import pytest

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.minihack.levels import LavaCrossing
from bonuslab.envs.minihack.randomness import Purpose, Stream, context_seed


class StreamAsNumpy:
    """The two methods of NumPy's generator that CrossingEnv calls, backed by our stream."""

    def __init__(self, seed: int) -> None:
        self._stream = Stream(seed)

    def shuffle(self, items: MutableSequence[Any]) -> None:
        self._stream.shuffle(items)

    def choice(self, items: range) -> int:
        return items[self._stream.below(len(items))]


def upstream_map(size: int, rivers: int, context: int) -> tuple[tuple[str, ...], Any, Any]:
    """Map, start and goal by minigrid's and MiniHack's code, with the same random numbers."""
    from minigrid.envs import CrossingEnv
    from minihack.envs.minigrid import MiniGridHack

    env = CrossingEnv(size=size, num_crossings=rivers)
    env._np_random = StreamAsNumpy(context_seed(context, Purpose.LEVEL))  # type: ignore[assignment]
    env._gen_grid(size, size)
    text, start, goal, doors = MiniGridHack.get_env_map(SimpleNamespace(wall="|"), env)
    assert doors == []
    return tuple(text.split("\n")), start, goal


@pytest.mark.parametrize(("size", "rivers"), [(9, 1), (9, 3), (11, 5), (19, 13), (19, 17)])
def test_maps_equal_minigrids(size: int, rivers: int) -> None:
    for context in range(60):
        level = LavaCrossing(size, rivers).build(context)
        assert (level.map, level.start, level.goal) == upstream_map(size, rivers, context)


def test_n17_has_all_sixteen_rivers() -> None:
    for context in range(20):
        rows = LavaCrossing(19, 17).build(context).map
        assert rows is not None
        assert len(rows) == 18
        lava = [row.count("L") for row in rows]
        full_rows, other_rows = lava[2:17:2], lava[1::2]
        # 8 full rows and 9 rows crossed by 8 columns, minus one cell per crossing of the 16 rivers.
        assert sum(full_rows) + sum(other_rows) == 8 * 17 + 8 * 9 - 16


@pytest.mark.parametrize("rivers", [0, 13, 17])
def test_the_goal_can_be_reached_without_diagonal_moves(rivers: int) -> None:
    for context in range(30):
        level = LavaCrossing(19, rivers).build(context)
        assert level.map is not None
        seen, frontier = {level.start}, [level.start]
        while frontier:
            x, y = frontier.pop()  # type: ignore[misc]
            for i, j in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
                if (i, j) not in seen and 0 <= j < len(level.map) and level.map[j][i] == ".":
                    seen.add((i, j))
                    frontier.append((i, j))
        assert level.goal in seen


def test_invalid_parameters_are_rejected() -> None:
    with pytest.raises(InvalidInput, match="size 18; allowed: odd"):
        LavaCrossing(18, 3)
    with pytest.raises(InvalidInput, match="size 23"):
        LavaCrossing(23, 3)
    with pytest.raises(InvalidInput, match="-1 rivers"):
        LavaCrossing(19, -1)

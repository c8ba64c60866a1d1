"""MultiRoom maps have the distribution of minigrid's generator on 25 x 25, conditioned on fitting 21 rows."""

from __future__ import annotations

from collections import Counter, deque
from functools import lru_cache
from types import SimpleNamespace

import pytest
from minigrid.envs import MultiRoomEnv
from scipy import stats

from bonuslab.envs.minihack.levels import MultiRoom
from bonuslab.envs.minihack.levels.level import Cell

MAPS = 2000
TALLEST_MAP = 21
MIN_P_VALUE = 1e-3 / 24
"""A false alarm rate of 1/1000 over all comparisons; the seeds are fixed, so the outcome is too."""

Map = tuple[tuple[str, ...], Cell, Cell, tuple[Cell, ...]]
Features = dict[str, int]


@lru_cache
def our_features(rooms: int, size: int) -> list[Features]:
    """Features of our maps."""
    levels = map(MultiRoom(rooms, size).build, range(MAPS))
    return [features((level.map, level.start, level.goal, level.doors)) for level in levels]  # type: ignore[arg-type]


@lru_cache
def minigrid_features(rooms: int, size: int) -> list[Features]:
    """Features of maps by minigrid and MiniHack, with their own random numbers, without maps that are too tall."""
    from minihack.envs.minigrid import MiniGridHack

    env = MultiRoomEnv(minNumRooms=rooms, maxNumRooms=rooms, maxRoomSize=size, width=25, height=25)
    env.reset(seed=2024)
    found: list[Features] = []
    while len(found) < MAPS:
        env._gen_grid(25, 25)
        text, start, goal, doors = MiniGridHack.get_env_map(SimpleNamespace(wall="|"), env)
        rows = tuple(text.split("\n"))
        if len(rows) <= TALLEST_MAP:
            found.append(features((rows, start, goal, tuple(doors))))
    return found


def path_length(rows: tuple[str, ...], start: Cell, goal: Cell) -> int:
    """Moves from start to goal in NetHack: eight directions, but no diagonal moves through doors."""
    distance, queue = {start: 0}, deque([start])
    while queue:
        x, y = queue.popleft()
        if (x, y) == goal:
            return distance[x, y]
        for i in (x - 1, x, x + 1):
            for j in (y - 1, y, y + 1):
                if not (0 <= j < len(rows) and 0 <= i < len(rows[0])) or rows[j][i] not in ".+":
                    continue
                diagonal = i != x and j != y
                if (i, j) in distance or (diagonal and "+" in (rows[j][i], rows[y][x])):
                    continue
                distance[i, j] = distance[x, y] + 1
                queue.append((i, j))
    raise AssertionError("the goal is unreachable")


def features(drawn: Map) -> Features:
    """Statistics of a map; each of them would reveal a wrong generator."""
    rows, start, goal, doors = drawn
    used = [column for column in range(25) if any(row[column] != " " for row in rows)]
    horizontal = sum(rows[row][column - 1] != "|" for column, row in doors)
    return {
        "rows": len(rows),
        "columns": len(used),
        "first column": used[0],
        "walls": sum(row.count("|") for row in rows),
        "floor": sum(row.count(".") for row in rows),
        "start column": start[0],
        "start row": start[1],
        "goal column": goal[0],
        "goal row": goal[1],
        "first door": doors[0][0] + 25 * (doors[0][1] // 7),
        "doors east or west": horizontal,
        "path length": path_length(rows, start, goal),
    }


def p_values(ours: list[Features], theirs: list[Features]) -> dict[str, float]:
    """Chi-square tests of homogeneity per feature; rare values are pooled with the next."""
    result = {}
    for name in ours[0]:
        counts = [Counter(drawn[name] for drawn in drawings) for drawings in (ours, theirs)]
        cells, pooled = [], [0, 0]
        for value in sorted(counts[0] | counts[1]):
            pooled = [pooled[k] + counts[k][value] for k in range(2)]
            if sum(pooled) >= 40:
                cells.append(pooled)
                pooled = [0, 0]
        cells[-1] = [cells[-1][k] + pooled[k] for k in range(2)]
        assert len(cells) > 1, name
        result[name] = float(stats.chi2_contingency(cells).pvalue)
    return result


@pytest.mark.parametrize(("rooms", "size"), [(6, 10), (4, 5)])
def test_the_distribution_is_minigrids(rooms: int, size: int) -> None:
    found = p_values(our_features(rooms, size), minigrid_features(rooms, size))
    assert min(found.values()) > MIN_P_VALUE, found


def test_a_wrong_distribution_is_detected() -> None:
    """The same test rejects rooms one cell smaller, and maps limited to one row less."""
    ours = our_features(6, 10)
    assert p_values(ours, minigrid_features(6, 9))["floor"] < 1e-6
    lower = [drawn for drawn in minigrid_features(6, 10) if drawn["rows"] < TALLEST_MAP]
    assert p_values(ours, lower)["rows"] < 1e-6

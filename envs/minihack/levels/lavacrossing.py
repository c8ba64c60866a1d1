"""LavaCrossing: from one corner of a room to the opposite one, across rivers of lava with one crossing each."""

from __future__ import annotations

from dataclasses import dataclass

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.minihack.levels.bytecode import map_level
from bonuslab.envs.minihack.levels.level import Level
from bonuslab.envs.minihack.randomness import Purpose, Stream, context_seed

LARGEST = 21
VERTICAL, HORIZONTAL = 0, 1


@dataclass(frozen=True)
class LavaCrossing:
    """Maps of minigrid's CrossingEnv with lava, in a square grid."""

    size: int = 19
    """Columns and rows of the grid, including the walls; odd."""
    rivers: int = 13
    """Rivers of lava, capped at size - 3 (N17 at size 19 has 16)."""

    def __post_init__(self) -> None:
        if self.size % 2 == 0 or not 5 <= self.size <= LARGEST:
            raise InvalidInput(f"LavaCrossing size {self.size}; allowed: odd numbers from 5 to {LARGEST}")
        if self.rivers < 0:
            raise InvalidInput(f"a LavaCrossing level with {self.rivers} rivers; allowed: 0 or more")

    def build(self, context: int) -> Level:
        """The level of `context`."""
        rows = draw_rows(Stream(context_seed(context, Purpose.LEVEL)), self.size, self.rivers)
        start, goal = (1, 1), (self.size - 2, self.size - 2)
        lev = map_level("".join(rows).encode("ascii"), self.size, start, goal)
        return Level(lev, rows, start, goal)


def draw_rows(stream: Stream, size: int, count: int) -> tuple[str, ...]:
    """Rows of a map with `count` random rivers, with crossings along a random path of regions to the goal."""
    positions = range(2, size - 2, 2)
    rivers = [(VERTICAL, i) for i in positions] + [(HORIZONTAL, j) for j in positions]
    stream.shuffle(rivers)
    columns = sorted(position for direction, position in rivers[:count] if direction == VERTICAL)
    rows = sorted(position for direction, position in rivers[:count] if direction == HORIZONTAL)

    dry = "|" + "".join("L" if i in columns else "." for i in range(1, size - 1)) + "|"
    river = "|" + "L" * (size - 2) + "|"
    # MiniHack drops the grid's last row, so the south wall is stone.
    cells = [list("|" * size)] + [list(river if j in rows else dry) for j in range(1, size - 1)]

    crossings = [VERTICAL] * len(columns) + [HORIZONTAL] * len(rows)
    stream.shuffle(crossings)
    columns, rows = [0, *columns, size - 1], [0, *rows, size - 1]
    region_column = region_row = 0
    for direction in crossings:
        left, right = columns[region_column : region_column + 2]
        above, below = rows[region_row : region_row + 2]
        if direction == VERTICAL:
            cells[above + 1 + stream.below(below - above - 1)][right] = "."
            region_column += 1
        else:
            cells[below][left + 1 + stream.below(right - left - 1)] = "."
            region_row += 1
    return tuple("".join(row) for row in cells)

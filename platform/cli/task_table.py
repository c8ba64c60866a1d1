"""MiniHack tasks as data and as a table, for `bonuslab tasks`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from bonuslab.envs.errors import unknown
from bonuslab.envs.minihack import TASKS, Task, suites
from bonuslab.envs.minihack.levels import Description, DesFile, KeyRoom, LavaCrossing, MultiRoom
from bonuslab.envs.minihack.levels.description import read_description
from bonuslab.envs.minihack.levels.multiroom import SIDE, TALLEST_MAP
from bonuslab.envs.minihack.tasks import GRAMMAR, MOVES
from bonuslab.platform.cli.tasks import short_name
from bonuslab.platform.pictures.table import print_table

HEADERS = ("task", "rooms", "map", "steps", "suites", "actions")
WHOLE_MAP = (79, 21)
_MAP_BLOCK = re.compile(r"^MAP\n(.*?)^ENDMAP", re.MULTILINE | re.DOTALL)


def map_size(task: Task) -> tuple[int, int]:
    """Maximum columns and rows of a level, including walls."""
    match task.levels:
        case MultiRoom():
            return SIDE, TALLEST_MAP
        case LavaCrossing(size=size):
            return size, size
        case KeyRoom(room_size=size):
            return size + 2, size + 2
        case Description(text=text):
            return _size_of_block(text)
        case DesFile(name=name):
            return _size_of_block(read_description(name))
    return WHOLE_MAP


def _size_of_block(description: str) -> tuple[int, int]:
    """Size of a level description's map; without one, the game fills the whole level."""
    block = _MAP_BLOCK.search(description)
    rows = block[1].splitlines() if block else []
    return (max(map(len, rows)), len(rows)) if rows else WHOLE_MAP


def describe(task: Task) -> dict[str, Any]:
    """A task as JSON data."""
    columns, rows = map_size(task)
    return {
        "name": task.name,
        "rooms": task.rooms,
        "map_columns": columns,
        "map_rows": rows,
        "max_steps": task.max_steps,
        "actions": list(task.action_names),
        "suites": list(task.suites),
    }


def tasks_of(suite: str | None) -> list[Task]:
    """The tasks of a suite, or all tasks."""
    if suite is not None and suite not in suites:
        raise unknown("suite", suite, suites)
    return list(TASKS.values() if suite is None else suites[suite])


def print_tasks(tasks: Sequence[Task]) -> None:
    """Print the table."""
    print_table(HEADERS, [_row(task) for task in tasks], numbers=("rooms", "map", "steps"))
    print(f"\nNames for other sizes: {GRAMMAR}")


def _row(task: Task) -> list[str]:
    columns, rows = map_size(task)
    others = " ".join(task.action_names[len(MOVES) :])
    actions = f"{len(MOVES)} moves {others}".strip()
    return [
        short_name(task),
        str(task.rooms),
        f"{columns} x {rows}",
        str(task.max_steps),
        " ".join(task.suites),
        actions,
    ]

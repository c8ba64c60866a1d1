"""`bonuslab tasks`: a table of the MiniHack tasks."""

from __future__ import annotations

import json
import re
from argparse import ArgumentParser, Namespace
from typing import Any

from bonuslab.envs.errors import unknown
from bonuslab.envs.minihack import TASKS, Task, suites
from bonuslab.envs.minihack.levels import Description, DesFile, KeyRoom, LavaCrossing, MultiRoom
from bonuslab.envs.minihack.levels.description import read_description
from bonuslab.envs.minihack.levels.multiroom import SIDE, TALLEST_MAP
from bonuslab.envs.minihack.tasks import GRAMMAR, MOVES
from bonuslab.platform.pictures.table import print_table

HEADERS = ("task", "rooms", "map", "steps", "suites", "actions")
WHOLE_MAP = (79, 21)
_MAP_BLOCK = re.compile(r"^MAP\n(.*?)^ENDMAP", re.MULTILINE | re.DOTALL)


def short_name(task: Task) -> str:
    """A task's name without MiniHack's prefix and version."""
    return task.name.removeprefix("MiniHack-").removesuffix("-v0")


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


class TasksCommand:
    """See `help`."""

    help = "list MiniHack tasks: rooms, map size, step limit, suites, actions"
    example = "bonuslab tasks --suite paper16"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command's arguments."""
        parser.add_argument("--suite", metavar="NAME", help=f"list only this suite: {', '.join(suites)}")
        parser.add_argument("--json", action="store_true", help="print JSON instead of a table")

    def run(self, arguments: Namespace) -> int:
        """Print the tasks."""
        if arguments.suite is not None and arguments.suite not in suites:
            raise unknown("suite", arguments.suite, suites)
        tasks = list(TASKS.values() if arguments.suite is None else suites[arguments.suite])
        if arguments.json:
            print(json.dumps([describe(task) for task in tasks], indent=2))
            return 0
        print_table(HEADERS, [_row(task) for task in tasks], numbers=("rooms", "map", "steps"))
        print(f"\nNames for other sizes: {GRAMMAR}")
        return 0


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

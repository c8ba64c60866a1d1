"""`bonuslab tasks`: a table of the MiniHack tasks."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bonuslab.envs.minihack import Task


def short_name(task: Task) -> str:
    """A task's name without MiniHack's prefix and version."""
    return task.name.removeprefix("MiniHack-").removesuffix("-v0")


class TasksCommand:
    """See `help`."""

    help = "list MiniHack tasks: rooms, map size, step limit, suites, actions"
    example = "bonuslab tasks --suite paper16"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command's arguments."""
        parser.add_argument("--suite", metavar="NAME", help="list only this suite (the table's column `suites`)")
        parser.add_argument("--json", action="store_true", help="print JSON instead of a table")

    def run(self, arguments: Namespace) -> int:
        """Print the tasks."""
        from bonuslab.platform.cli.task_table import describe, print_tasks, tasks_of

        tasks = tasks_of(arguments.suite)
        if arguments.json:
            print(json.dumps([describe(task) for task in tasks], indent=2))
        else:
            print_tasks(tasks)
        return 0

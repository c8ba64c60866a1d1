"""`bonuslab tasks`: the MiniHack tasks, and every other family with how to get it."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from bonuslab.envs.errors import InvalidInput

if TYPE_CHECKING:
    from bonuslab.envs.listing import Kind
    from bonuslab.envs.minihack import Task


def short_name(task: Task) -> str:
    """A task's name without MiniHack's prefix and version."""
    return task.name.removeprefix("MiniHack-").removesuffix("-v0")


class TasksCommand:
    """See `help`."""

    help = "list environments: MiniHack's tasks, and every other family with how to get it"
    example = "bonuslab tasks atari"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command's arguments."""
        parser.add_argument("family", nargs="?", help="list the names of one family: minihack, apartments, atari, …")
        parser.add_argument("--suite", metavar="NAME", help="list only this suite (the table's column `suites`)")
        parser.add_argument("--json", action="store_true", help="print JSON instead of a table")

    def run(self, arguments: Namespace) -> int:
        """Print the tasks."""
        from bonuslab.envs.listing import KINDS, find_kind

        kind = None if arguments.family is None else find_kind(arguments.family)
        if kind is not None and kind is not KINDS[0]:
            if arguments.suite is not None:
                raise InvalidInput("suites are of MiniHack tasks; leave out the family or --suite")
            return _print_names(kind, arguments.json)
        rows = [] if arguments.suite or kind else _rows()
        if not KINDS[0].installed and rows:  # the others can be listed without it
            print(json.dumps(rows, indent=2)) if arguments.json else _print_kinds()
            return 0
        from bonuslab.platform.cli.task_table import describe, print_tasks, tasks_of

        tasks = tasks_of(arguments.suite)
        if arguments.json:
            print(json.dumps([*map(describe, tasks), *rows], indent=2))
            return 0
        print_tasks(tasks)
        if rows:
            print()
            _print_kinds()
        return 0


def _rows() -> list[dict[str, Any]]:
    """Families as JSON data; `name` is an example."""
    from bonuslab.envs.listing import KINDS

    return [
        {"name": kind.example, "family": kind.name, "names": kind.names, "get": kind.get, "installed": kind.installed}
        for kind in KINDS
    ]


def _print_kinds() -> None:
    from rich.markup import escape

    from bonuslab.platform.pictures.table import print_table

    rows = [[row["family"], "yes" if row["installed"] else "no", row["names"], escape(row["get"])] for row in _rows()]
    print_table(("family", "here", "names", "how to get it"), rows)
    print("\n`bonuslab tasks FAMILY` lists its names, `bonuslab doctor NAME` tests one.")


def _print_names(kind: Kind, as_json: bool) -> int:
    from bonuslab.envs.listing import names_of

    if not kind.installed:
        print(f"{kind.name} is not installed here; how to get it: {kind.get}", file=sys.stderr)
    names = names_of(kind) if kind.installed or kind.name == "HM3D" else []
    print(json.dumps(names, indent=2) if as_json else "\n".join(names))
    return 0

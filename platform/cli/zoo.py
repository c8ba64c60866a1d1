"""`bonuslab zoo`: trained agents that come with bonuslab."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from dataclasses import asdict

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.grid.arguments import check_options
from bonuslab.platform.run.find import find
from bonuslab.platform.run.results import EVALUATION_MODES
from bonuslab.platform.run.zoo import PREFIX, add, entries

COLUMNS = ("agent", "task", "contexts", "bonus", "steps", *EVALUATION_MODES)


class ZooCommand:
    """See `help`."""

    help = "list the trained agents that come with bonuslab, or add one of your runs"
    example = "bonuslab zoo; bonuslab watch zoo:multiroom-n8-episodic; bonuslab zoo add runs/NAME my-agent"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command's arguments."""
        parser.add_argument("add", nargs="*", metavar="add RUN NAME", help="keep the policy of a run as the agent NAME")
        parser.add_argument(
            "--episodes", type=int, default=100, metavar="N", help="episodes that score a new agent (default 100)"
        )
        parser.add_argument("--json", action="store_true", help="print JSON instead of a table")

    def run(self, arguments: Namespace) -> int:
        """Print the list, or add an agent."""
        check_options(vars(arguments), episodes=1)
        if arguments.add:
            if len(arguments.add) != 3 or arguments.add[0] != "add":
                raise InvalidInput(f"`bonuslab zoo {' '.join(arguments.add)}`: write `bonuslab zoo add RUN NAME`")
            from bonuslab.platform.run.ray_session import silence_notices

            silence_notices()
            folder, entry = add(find(arguments.add[1]), arguments.add[2], arguments.episodes)
            size = sum(file.stat().st_size for file in folder.iterdir())
            print(f"added {folder} ({size / 1e6:.1f} MB); watch it with `bonuslab watch {PREFIX}{folder.name}`")
            if not entry.bonus_kept:
                print("the state of its bonus is too large to keep; the agent plays without a bonus")
            return 0
        found = entries()
        if arguments.json:
            print(json.dumps({name: asdict(entry) for name, entry in found.items()}, indent=1))
            return 0
        from bonuslab.platform.pictures.table import print_table

        rows = [
            (entry.task, entry.contexts, entry.bonus, f"{entry.env_steps:,}", *entry.outcomes)
            for entry in found.values()
        ]
        print_table(COLUMNS, [(name, *row) for name, row in zip(found, rows, strict=True)])
        print(f"\nScores are of held-out contexts. `bonuslab watch {PREFIX}NAME` plays an agent.")
        return 0

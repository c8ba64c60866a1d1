"""`bonuslab bonuses`: the bonuses of an expression, and the meaning of one."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from typing import Any


class BonusesCommand:
    """See `help`."""

    help = "list exploration bonuses, or explain an expression such as 'e3b * rnd'"
    example = "bonuslab bonuses 'e3b + 100 * noveld(c=0.1)'"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command's arguments."""
        parser.add_argument(
            "expression", nargs="?", help="bonus expression to explain, with a worked example (default: list all)"
        )
        parser.add_argument(
            "--plugin", action="append", default=[], metavar="FILE", help="Python file that registers bonuses"
        )
        parser.add_argument("--json", action="store_true", help="print JSON instead of text")

    def run(self, arguments: Namespace) -> int:
        """Print the list or the explanation."""
        # Imported here so that `bonuslab --help` does not wait for PyTorch.
        from bonuslab.algorithms.bonuses import parse
        from bonuslab.algorithms.extensions import load_plugin
        from bonuslab.platform.cli import bonus_catalogue as catalogue

        for path in arguments.plugin:
            load_plugin(path)
        if arguments.expression is None:
            answer: dict[str, Any] = catalogue.overview()
            lines = catalogue.overview_lines(answer)
        else:
            answer = catalogue.explanation(parse(arguments.expression))
            lines = catalogue.explanation_lines(answer)
        print(json.dumps(answer, indent=2, ensure_ascii=False) if arguments.json else "\n".join(lines))
        return 0

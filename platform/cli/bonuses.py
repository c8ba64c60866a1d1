"""`bonuslab bonuses`: what can stand in a bonus expression, and what an expression means."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from typing import Any


class BonusesCommand:
    """List the bonuses and presets, or check and explain one expression."""

    help = "list exploration bonuses, or explain an expression such as 'e3b * rnd'"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """An expression, plugins, and the form of the answer."""
        parser.add_argument("expression", nargs="?", help="explain this bonus expression, e.g. 'e3b + 100 * noveld'")
        parser.add_argument(
            "--plugin", action="append", default=[], metavar="FILE", help="load bonuses from this Python file"
        )
        parser.add_argument("--json", action="store_true", help="print JSON")

    def run(self, arguments: Namespace) -> int:
        """Print the list or the explanation."""
        # Imported here: `bonuslab --help` shall not wait for PyTorch.
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

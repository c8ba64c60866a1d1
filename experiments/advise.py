"""`bonuslab advise`: the bonus that the paper's framework predicts for a task from the structure its contexts share."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from bonuslab.envs.errors import InvalidInput


class AdviseCommand:
    """See `help`."""

    help = "predict whether a global, episodic or combined bonus suits a task, from the structure contexts share"
    example = "bonuslab advise MultiRoom-N4-S5 --contexts 10"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command's arguments."""
        parser.add_argument("task", help="an environment (`bonuslab tasks`); similarities are of MiniHack tasks")
        parser.add_argument("--contexts", default="inf", metavar="N", help="number of contexts, or inf (default)")
        parser.add_argument(
            "--features",
            default="position,message",
            metavar="LIST",
            help="features to count (default position,message)",
        )
        parser.add_argument("--results", type=Path, metavar="PATH", help="training results: a CSV or a grid's folder")
        parser.add_argument("--seed", type=int, default=0, help="random seed of the sampled contexts (default 0)")
        parser.add_argument("--json", action="store_true", help="print JSON")

    def run(self, arguments: Namespace) -> int:
        """Sample, predict and print."""
        from bonuslab.envs.catalogue import find
        from bonuslab.envs.contexts import parse_count

        family, contexts = find(arguments.task), parse_count(arguments.contexts)
        if family.name != "minihack":
            from bonuslab.experiments.value_functions.general_advice import print_general_advice

            if arguments.results is not None:
                raise InvalidInput("--results is compared with similarities, which are known for MiniHack tasks only")
            print_general_advice(family, family.canonical_name(arguments.task), contexts, arguments.json)
            return 0
        from bonuslab.envs.minihack import task as find_task
        from bonuslab.experiments.value_functions.advice import parse_features, print_advice
        from bonuslab.platform.cli.tasks import short_name

        task = short_name(find_task(arguments.task))
        features = parse_features(arguments.features)
        if arguments.seed < 0:
            raise InvalidInput(f"--seed {arguments.seed} cannot be used; it must be 0 or more")
        print_advice(task, contexts, features, arguments.results, arguments.seed, arguments.json)
        return 0

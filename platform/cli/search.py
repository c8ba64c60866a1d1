"""`bonuslab search`: the best normalisation and coefficient of every bonus, with equal effort for each."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, Namespace
from dataclasses import fields
from os.path import expanduser
from pathlib import Path
from typing import Any

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.grid.arguments import (
    add_run_arguments,
    add_session_arguments,
    check_options,
    chosen_settings,
    parse_seeds,
)
from bonuslab.platform.grid.command import session_options
from bonuslab.platform.grid.search_space import SCHEDULERS, Search, Space
from bonuslab.platform.run.loading import paused_collector
from bonuslab.platform.run.progress import Progress


class SearchCommand:
    """See `help`."""

    help = "search the scale of every bonus with equal effort, on seeds that a study never uses"
    example = (
        'bonuslab search --task MultiRoom-N6-S5 --bonus "count.episodic(position)" --bonus e3b --steps 300000 --plan'
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command's arguments."""
        parser.argument_default = SUPPRESS
        what = parser.add_argument_group("what to search")
        what.add_argument("--task", action="append", metavar="TASK", help="task to train on; may be repeated")
        what.add_argument("--bonus", action="append", metavar="TEXT", help="bonus expression; may be repeated")
        what.add_argument(
            "--contexts", nargs="+", metavar="N", help="numbers of training contexts, or inf (default inf)"
        )
        what.add_argument(
            "--samples", type=int, metavar="N", help=f"for each bonus and task (default {Search.samples})"
        )
        what.add_argument("--search-seeds", nargs="+", metavar="N", help="random seeds and ranges (default 101 102)")
        what.add_argument("--study-seeds", nargs="+", metavar="N", help="seeds of the study, which are refused here")
        what.add_argument(
            "--normalise", nargs="+", metavar="NAME", help="std, reference, return, none (default std none)"
        )
        for name in ("coefficient", "beta"):
            low, high = getattr(Space, name)
            of = "weight of a sum's second term" if name == "beta" else "coefficient"
            help = f"range of the {of}, log-uniform (default {low:g} {high:g})"
            what.add_argument(f"--{name}", nargs=2, type=float, metavar=("LOW", "HIGH"), help=help)
        what.add_argument("--scheduler", metavar="NAME", help=f"{', '.join(SCHEDULERS)} (default {Search.scheduler})")
        what.add_argument(
            "--searcher",
            metavar="NAME",
            help=f"even, random, optuna or another of Ray Tune (default {Search.searcher})",
        )
        what.add_argument(
            "--grace",
            type=float,
            metavar="X",
            help=f"share of the steps before a run may be stopped (default {Search.grace})",
        )
        what.add_argument("--metric", metavar="COLUMN", help=f"column to maximise (default {Search.metric})")
        what.add_argument("--algorithm", metavar="NAME", help="impala or ddppo (default impala)")
        what.add_argument("--preset", metavar="NAME", help="hyperparameters (`bonuslab presets`; default auto)")
        add_run_arguments(what)
        add_session_arguments(parser, "runs/search")

    def run(self, arguments: Namespace) -> int:
        """0: all samples ended, 1: some failed, 128 + n: stopped by signal n."""
        given = vars(arguments)
        check_options(given, concurrent=1, max_retries=0, samples=1)
        for name in ("task", "bonus"):
            if name not in given:
                raise InvalidInput(f"search needs a --{name}, for example `{self.example}`")
        search = search_of(given)
        loading = Progress(1)
        loading.hint("loading PyTorch and RLlib")
        with paused_collector():
            from bonuslab.platform.grid.search_request import requested
            from bonuslab.platform.run.ray_session import silence_notices

        silence_notices()
        settings = chosen_settings(given, given.get("algorithm", "impala"))
        settings |= {name: given[name] for name in ("algorithm", "preset") if name in given}
        session = requested(
            search,
            given["task"],
            given["bonus"],
            given.get("contexts", ["inf"]),
            settings,
            parse_seeds(given.get("study_seeds", ())),
            Path(expanduser(given.get("out", "runs/search"))),
            session_options(given),
        )
        loading.clear()
        return session.plan() if "plan" in given else session.run()


def search_of(given: dict[str, Any]) -> Search:
    """The search that the options describe."""
    of_space = {item.name for item in fields(Space)}
    space = Space(**{name: tuple(value) for name, value in given.items() if name in of_space})
    names = ("samples", "scheduler", "searcher", "grace", "metric", "steps")
    values = {name: given[name] for name in names if name in given}
    if "search_seeds" in given:
        values["seeds"] = tuple(parse_seeds(given["search_seeds"]))
    return Search(space=space, **values)

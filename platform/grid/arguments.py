"""The command line that all experiments share, and the selection of trials it stands for."""

from __future__ import annotations

import re
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.grid.experiment import Experiment, Scale
from bonuslab.platform.grid.resources import TrialResources

MAX_SEEDS = 10_000


def add_arguments(parser: ArgumentParser, experiment: Experiment) -> None:
    """Declare the options; what is not given is absent from the result."""
    parser.argument_default = SUPPRESS
    what = parser.add_argument_group("what is run")
    scales = "; ".join(f"{name}: {scale.description}" for name, scale in experiment.scales.items())
    what.add_argument("--scale", metavar="NAME", help=f"{scales} (default {experiment.default_scale})")
    what.add_argument("--tasks", nargs="+", metavar="TASK", help="instead of the scale's")
    if experiment.suites:
        what.add_argument("--suite", metavar="NAME", help=f"a list of tasks: {', '.join(experiment.suites)}")
    what.add_argument("--bonuses", nargs="+", metavar="TEXT", help='expressions such as none "e3b * rnd"')
    what.add_argument("--seeds", nargs="+", metavar="N", help="numbers and ranges: 0 1 2, 0-4")
    what.add_argument("--contexts", nargs="+", metavar="N", help="how many contexts to train on, or inf")
    add_run_arguments(what)

    how = parser.add_argument_group("how it is run")
    how.add_argument("--plan", action="store_true", help="print the trials, hours and disk they need; start nothing")
    how.add_argument("--address", metavar="HOST:PORT", help="a Ray cluster; `local` for this machine alone")
    how.add_argument("--cpus-per-trial", type=int, metavar="N", help="1: each trial is one process")
    how.add_argument("--gpus-per-trial", type=float, metavar="X", help="may be a fraction")
    how.add_argument("--concurrent", type=int, metavar="N", help="trials at once (default: as many as fit)")
    how.add_argument("--max-retries", type=int, metavar="N", help="how often a failed trial is tried again (default 2)")

    where = parser.add_argument_group("where it is kept, and going on with it")
    where.add_argument(
        "--out",
        metavar="DIR",
        help=f"folder of the grid (default runs/{experiment.name}-SCALE)",
    )
    where.add_argument("--storage", metavar="PLACE", help="where checkpoints go: a shared path or s3://BUCKET/PREFIX")
    where.add_argument("--tracking-uri", metavar="URI", help="MLflow server or database (default: in that folder)")
    where.add_argument("--fresh", action="store_true", help="begin anew; the grid that is there is moved aside")
    where.add_argument("--accept-changes", action="store_true", help="go on although settings differ")


def add_run_arguments(parser: Any) -> None:
    """Declare what `train` and every experiment let a user change."""
    parser.add_argument("--steps", type=int, metavar="N", help="environment steps (default: the preset's)")
    parser.add_argument(
        "--set", action="append", metavar="NAME=VALUE", help="a hyperparameter: lr=3e-4 (see `presets`)"
    )
    parser.add_argument(
        "--env", action="append", metavar="NAME=VALUE", help="a setting of the environment: max_steps=200"
    )
    parser.add_argument(
        "--plugin", action="append", metavar="FILE", help="a Python file that registers bonuses, features, networks, …"
    )
    parser.add_argument(
        "--evaluate-every", type=int, metavar="N", help="environment steps; 0 for never (default: at the end)"
    )
    parser.add_argument(
        "--checkpoint-every", type=int, metavar="N", help="environment steps (default: every five minutes)"
    )


def chosen_settings(given: dict[str, Any], algorithm: str) -> dict[str, Any]:
    """What `add_run_arguments` declared, by the names of `Config` and of hyperparameters."""
    from bonuslab.platform.run.config import parse_env_setting, parse_setting

    settings = dict(parse_setting(text, algorithm) for text in given.get("set", ()))
    for option, name in (
        ("steps", "total_env_steps"),
        ("checkpoint_every", "checkpoint_every_steps"),
        ("evaluate_every", "evaluate_every_steps"),
    ):
        if option in given:
            settings[name] = given[option]
    if "plugin" in given:
        settings["plugins"] = [str(Path(path).expanduser().resolve()) for path in given["plugin"]]
    if "env" in given:
        settings["env"] = dict(map(parse_env_setting, given["env"]))
    return settings


def selected_scale(given: dict[str, Any], experiment: Experiment) -> Scale:
    """The scale with everything that the command line changes."""
    name = given.get("scale", experiment.default_scale)
    if "tasks" in given and "suite" in given:
        raise InvalidInput("--tasks and --suite cannot be given together")
    axes: dict[str, Any] = {axis: given[axis] for axis in ("tasks", "bonuses", "contexts") if axis in given}
    if "seeds" in given:
        axes["seeds"] = parse_seeds(given["seeds"])
    base = experiment.scale(name)
    axes["resources"] = TrialResources(
        given.get("cpus_per_trial", base.resources.cpus),
        # Asking for one process without naming GPUs means no GPU.
        given.get("gpus_per_trial", 0.0 if given.get("cpus_per_trial") == 1 else base.resources.gpus),
    )
    settings = chosen_settings(given, base.settings.get("algorithm", "impala"))
    return experiment.selected(name, given.get("suite"), settings, **axes)


def parse_seeds(words: Sequence[str]) -> list[int]:
    """`0 1 5-7` as numbers."""
    seeds: list[int] = []
    for word in words:
        found = re.fullmatch(r"(\d+)(?:-(\d+))?", word)
        if not found:
            raise InvalidInput(f"--seeds {word!r} cannot be used; write numbers and ranges, such as 0 1 2 or 0-4")
        first, last = int(found[1]), int(found[2] or found[1])
        if not first <= last < first + MAX_SEEDS:
            raise InvalidInput(f"--seeds {word!r} cannot be used; a range goes up, by at most {MAX_SEEDS}")
        seeds += range(first, last + 1)
    return seeds


def check_options(given: dict[str, Any]) -> None:
    """Refuse options that are out of range before anything is started."""
    for option, least in (("concurrent", 1), ("max_retries", 0)):
        if option in given and given[option] < least:
            raise InvalidInput(
                f"--{option.replace('_', '-')} {given[option]} cannot be used; it must be {least} or more"
            )

"""The command line shared by all experiments, and the trials it selects."""

from __future__ import annotations

import re
from argparse import SUPPRESS, ArgumentParser
from collections.abc import Mapping, Sequence
from os.path import expanduser
from pathlib import Path
from typing import Any

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.grid.experiment import Experiment, Scale
from bonuslab.platform.grid.resources import TrialResources

MAX_SEEDS = 10_000
MAX_NUMBER = 2**31


def add_arguments(parser: ArgumentParser, experiment: Experiment) -> None:
    """Declare the options; omitted ones are absent from the result."""
    parser.argument_default = SUPPRESS
    what = parser.add_argument_group("what to run")
    scales = "; ".join(f"{name}: {scale.description}" for name, scale in experiment.scales.items())
    what.add_argument("--scale", metavar="NAME", help=f"{scales} (default {experiment.default_scale})")
    what.add_argument("--tasks", nargs="+", metavar="TASK", help="tasks to train on, instead of the scale's")
    if experiment.suites:
        what.add_argument("--suite", metavar="NAME", help="tasks of a suite (`bonuslab tasks`)")
    what.add_argument("--bonuses", nargs="+", metavar="TEXT", help='bonus expressions, such as none "e3b * rnd"')
    what.add_argument("--seeds", nargs="+", metavar="N", help="random seeds and ranges: 0 1 2 or 0-4")
    what.add_argument("--contexts", nargs="+", metavar="N", help="numbers of training contexts, or inf")
    add_run_arguments(what)

    what.add_argument("--winners", metavar="FILE", help="settings found by a search: its winners.json or its folder")
    how = add_session_arguments(parser, f"runs/{experiment.name}-SCALE")
    how.add_argument("--cpus-per-trial", type=int, metavar="N", help="with 1, each trial runs in a single process")
    how.add_argument("--gpus-per-trial", type=float, metavar="X", help="may be a fraction")
    if experiment.search is not None:
        how.add_argument(
            "--search", action="store_true", help="search the settings of every bonus on seeds the study never uses"
        )


def add_session_arguments(parser: ArgumentParser, folder: str) -> Any:
    """Declare the options of `SessionOptions`, `--plan` and `--out`; returns the group of how to run it."""
    how = parser.add_argument_group("how to run it")
    how.add_argument("--plan", action="store_true", help="print the trials, and the time and disk they need, and exit")
    how.add_argument("--recalibrate", action="store_true", help="with --plan: measure again what was measured before")
    how.add_argument("--address", metavar="HOST:PORT", help="Ray cluster to join; `local` uses this machine only")
    how.add_argument(
        "--ray-dashboard", action="store_true", help="start Ray's dashboard and metrics too (a cluster has its own)"
    )
    how.add_argument("--concurrent", type=int, metavar="N", help="maximum concurrent trials (default: as many as fit)")
    how.add_argument("--max-retries", type=int, metavar="N", help="retries of a failed trial (default 2)")

    where = parser.add_argument_group("where to store and how to resume it")
    where.add_argument("--out", metavar="DIR", help=f"folder of the grid (default {folder})")
    where.add_argument("--storage", metavar="PLACE", help="store checkpoints here: a shared path or s3://BUCKET/PREFIX")
    where.add_argument("--tracking-uri", metavar="URI", help="MLflow server or database (default: in the folder)")
    where.add_argument("--wandb", metavar="PROJECT", help="also send the results to this project of Weights & Biases")
    where.add_argument("--fresh", action="store_true", help="start over; an existing grid is moved to a backup folder")
    where.add_argument("--accept-changes", action="store_true", help="resume even if the settings have changed")
    return how


def add_run_arguments(parser: Any) -> None:
    """Declare the options that `train` and all experiments share."""
    parser.add_argument("--steps", type=int, metavar="N", help="total environment steps (default: the preset's)")
    parser.add_argument(
        "--set", action="append", metavar="NAME=VALUE", help="set a hyperparameter, e.g. lr=3e-4 (`bonuslab presets`)"
    )
    parser.add_argument(
        "--env", action="append", metavar="NAME=VALUE", help="set an environment setting, e.g. max_steps=200"
    )
    parser.add_argument(
        "--plugin", action="append", metavar="FILE", help="Python file that registers bonuses, features, networks, …"
    )
    parser.add_argument(
        "--evaluate-every", type=int, metavar="N", help="in environment steps; 0 for never (default: at the end)"
    )
    parser.add_argument(
        "--checkpoint-every", type=int, metavar="N", help="in environment steps (default: every five minutes)"
    )


def chosen_settings(given: dict[str, Any], algorithm: str) -> dict[str, Any]:
    """The options of `add_run_arguments` as fields of `Config` and hyperparameters."""
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
        settings["plugins"] = [str(Path(expanduser(path)).resolve()) for path in given["plugin"]]
    if "env" in given:
        settings["env"] = dict(map(parse_env_setting, given["env"]))
    return settings


def selected_scale(given: dict[str, Any], experiment: Experiment) -> Scale:
    """The scale with the changes of the command line."""
    name = given.get("scale", experiment.default_scale)
    if "tasks" in given and "suite" in given:
        raise InvalidInput("--tasks and --suite cannot be given together")
    axes: dict[str, Any] = {axis: given[axis] for axis in ("tasks", "bonuses", "contexts") if axis in given}
    if "seeds" in given:
        axes["seeds"] = parse_seeds(given["seeds"])
    base = experiment.scale(name)
    axes["resources"] = TrialResources(
        given.get("cpus_per_trial", base.resources.cpus),
        # One CPU without --gpus-per-trial means no GPU.
        given.get("gpus_per_trial", 0.0 if given.get("cpus_per_trial") == 1 else base.resources.gpus),
    )
    if "winners" in given:
        axes["winners"] = given["winners"]
    settings = chosen_settings(given, base.settings.get("algorithm", "impala"))
    return experiment.selected(name, given.get("suite"), settings, **axes)


def parse_seeds(words: Sequence[str]) -> list[int]:
    """`0 1 5-7` as integers."""
    seeds: list[int] = []
    for word in words:
        found = re.fullmatch(r"([0-9]{1,10})(?:-([0-9]{1,10}))?", word)
        if not found:
            raise InvalidInput(f"invalid --seeds {word!r}; write numbers below 2³¹ and ranges, such as 0 1 2 or 0-4")
        first, last = int(found[1]), int(found[2] or found[1])
        if not first <= last < first + MAX_SEEDS:
            raise InvalidInput(f"invalid --seeds {word!r}; a range must ascend and span at most {MAX_SEEDS} seeds")
        seeds += range(first, last + 1)
    return seeds


def check_options(given: Mapping[str, Any], **least: int) -> None:
    """Reject numbers below their least value or too large; omitted options pass."""
    for name, low in least.items():
        value = given.get(name)
        if value is not None and not low <= value < MAX_NUMBER:
            allowed = f"less than {MAX_NUMBER}" if value >= MAX_NUMBER else f"{low} or more"
            raise InvalidInput(f"invalid --{name.replace('_', '-')} {value}; it must be {allowed}")

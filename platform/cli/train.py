"""`bonuslab train`: train a policy on a task with a bonus."""

from __future__ import annotations

import sys
from argparse import SUPPRESS, ArgumentParser, Namespace
from os.path import expanduser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.cli.command import add_trust
from bonuslab.platform.grid.arguments import add_run_arguments, chosen_settings
from bonuslab.platform.run.deferred import deferred
from bonuslab.platform.run.find import find
from bonuslab.platform.run.loading import paused_collector
from bonuslab.platform.run.progress import Progress, duration
from bonuslab.platform.run.results import fewest_episodes, outcome_text
from bonuslab.platform.tracking.wandb_runs import require_wandb, send_to_wandb

if TYPE_CHECKING:
    from bonuslab.platform.grid.single import RunOutcome, SingleRun

# RLlib takes seconds to import, so `--help` does not.

_OWN = ("bonus", "algorithm", "preset", "contexts", "seed", "serial", "resources")
_WITH_RESUME = ("resume", "trust", "wandb", "steps", "resources", "checkpoint_every", "evaluate_every")
"""Options allowed with --resume; the others define the run."""


class TrainCommand:
    """See `help`."""

    help = "train a policy on a task with an exploration bonus"
    example = 'bonuslab train MultiRoom-N4-S5 --bonus "e3b * rnd" --serial'

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command's arguments."""
        parser.argument_default = SUPPRESS
        parser.add_argument("task", nargs="?", help="name of an environment (`bonuslab tasks`)")
        parser.add_argument("--bonus", metavar="TEXT", help='bonus expression, such as "e3b * rnd" (default none)')
        parser.add_argument("--algorithm", metavar="NAME", help="impala or ddppo (default impala)")
        parser.add_argument("--preset", metavar="NAME", help="hyperparameters (`bonuslab presets`; default auto)")
        parser.add_argument("--contexts", metavar="N", help="training contexts: a number, or inf (default: all)")
        parser.add_argument("--seed", type=int, help="random seed; bit-for-bit reproducible with --serial (default 0)")
        parser.add_argument("--serial", action="store_true", help="run everything in one process, without Ray")
        parser.add_argument("--resources", metavar="NAME", help="auto, laptop, workstation or cluster (default auto)")
        add_run_arguments(parser)
        parser.add_argument("--out", metavar="DIR", help="folder of the run (default: a new one below runs/)")
        parser.add_argument("--wandb", metavar="PROJECT", help="also send the run to this project of Weights & Biases")
        parser.add_argument("--resume", metavar="RUN", help="name or folder of a run to resume")
        add_trust(parser)

    def run(self, arguments: Namespace) -> int:
        """Train; 128 + n after signal n, 1 after an error in training."""
        given = vars(arguments)
        if "resume" not in given and "task" not in given:
            raise InvalidInput("train needs a task, for example `bonuslab train MultiRoom-N6 --bonus e3b`")
        if "wandb" in given:
            require_wandb()
        run = _prepared(given)
        from bonuslab.platform.grid.single import TrainingFailed

        display = Progress(run.config.steps, fewest_episodes=_fewest(run))
        try:
            outcome = run.train(display)
        except TrainingFailed as error:
            display.end_line()
            print(f"bonuslab: {error}", file=sys.stderr)
            return 1
        finally:
            display.end_line()
            run.release()
        _summarise(run, outcome)
        if "wandb" in given:
            print(f"  wandb      {send_to_wandb(run.folder, given['wandb'])}")
        return 0 if outcome.stopped_by is None else 128 + outcome.stopped_by


def _prepared(given: dict[str, Any]) -> SingleRun:
    """Create or open the run; everything is validated before anything starts."""
    loading = Progress(1)
    loading.hint("loading PyTorch and RLlib")
    try:
        with paused_collector(), deferred():
            from bonuslab.platform.grid.single import SingleRun
            from bonuslab.platform.run.config import Config
            from bonuslab.platform.run.ray_session import silence_notices

        silence_notices()
        settings = chosen_settings(given, given.get("algorithm", "impala"))
        own = {name: given[name] for name in _OWN if name in given}
        if "resume" not in given:
            path = Path(expanduser(given["out"])) if "out" in given else None
            return SingleRun.begin(Config.of(given["task"], **own, **settings), path)
        for name in given:
            if name not in _WITH_RESUME:
                option = name if name == "task" else f"--{name.replace('_', '-')}"
                raise InvalidInput(f"{option} cannot be combined with --resume: it is part of the run's definition")
        return SingleRun.resume(find(given["resume"]).grid, given["trust"], **own, **settings)
    finally:
        loading.clear()


def _fewest(run: SingleRun) -> int:
    return fewest_episodes(vars(run.config.values))


def _summarise(run: SingleRun, outcome: RunOutcome) -> None:
    config, row = run.config, outcome.row
    how = "finished" if outcome.stopped_by is None else "stopped"
    print(f"{config.task} with bonus {config.bonus}, seed {config.seed}: {how} at {int(row['env_steps']):,} steps")
    outcome_so_far = outcome_text(row, fewest=_fewest(run))
    print(f"  time       {duration(row['wall_seconds'])} of training")
    print(f"  training   {outcome_so_far if 'episode_return' in row else 'no episode has ended yet'}")
    for mode in ("greedy", "sampled"):
        prefix = f"evaluation/{mode}"
        if f"{prefix}/win_rate" in row:
            print(f"  {mode:<10} {outcome_text(row, prefix)}  on held-out contexts")
    path = run.folder.path
    print(f"  folder     {path}")
    if outcome.stopped_by is not None:
        print(f"  resume     bonuslab train --resume {path}")
    print(f"  watch      bonuslab watch {path}")
    print(f"  curves     bonuslab board {path}")

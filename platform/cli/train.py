"""`bonuslab train`: train a policy on a task with a bonus."""

from __future__ import annotations

import sys
from argparse import SUPPRESS, ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.run.progress import Progress, duration
from bonuslab.platform.run.results import outcome_text

if TYPE_CHECKING:
    from bonuslab.platform.run.config import RunSettings
    from bonuslab.platform.run.run_folder import RunFolder
    from bonuslab.platform.run.single_run import Outcome

# RLlib takes seconds to import: it is loaded once a run is wanted, not for `--help`.

_FIELDS = {
    "bonus": "bonus",
    "algorithm": "algorithm",
    "preset": "preset",
    "contexts": "contexts",
    "seed": "seed",
    "steps": "total_env_steps",
    "serial": "serial",
    "plan": "plan",
    "checkpoint_every": "checkpoint_every_steps",
    "evaluate_every": "evaluate_every_steps",
}
"""Field of `RunSettings` that each option sets."""
_WITH_RESUME = ("steps", "plan", "checkpoint_every", "evaluate_every")
"""Options that may change when a run goes on; the others decide what the run is."""


class TrainCommand:
    """See `help`."""

    help = "train a policy on a task with an exploration bonus"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command's arguments."""
        parser.argument_default = SUPPRESS
        parser.add_argument("task", nargs="?", help="a name of `bonuslab tasks`, or of another environment")
        parser.add_argument("--bonus", metavar="TEXT", help='an expression such as "e3b * rnd" (default none)')
        parser.add_argument("--algorithm", metavar="NAME", help="impala or ddppo (default impala)")
        parser.add_argument(
            "--preset",
            metavar="NAME",
            help="laptop or paper; of ddppo laptop, laptop-pixels, habitat or montezuma (default laptop)",
        )
        parser.add_argument("--contexts", metavar="N", help="how many contexts to train on, or inf (default inf)")
        parser.add_argument("--seed", type=int, help="of everything (default 0)")
        parser.add_argument("--steps", type=int, metavar="N", help="environment steps (default: the preset's)")
        parser.add_argument("--serial", action="store_true", help="one process, the same bits for the same seed")
        parser.add_argument("--plan", metavar="NAME", help="auto, laptop, workstation or cluster (default auto)")
        parser.add_argument("--set", action="append", metavar="NAME=VALUE", help="change a number of the preset")
        parser.add_argument(
            "--env", action="append", metavar="NAME=VALUE", help="a setting of the environment: max_steps=200"
        )
        parser.add_argument("--plugin", action="append", metavar="FILE", help="a Python file with further bonuses")
        parser.add_argument("--out", metavar="DIR", help="folder of the run (default: a new one below runs/)")
        parser.add_argument("--resume", metavar="DIR", help="go on with the run in this folder")
        parser.add_argument(
            "--checkpoint-every", type=int, metavar="N", help="environment steps (default: every ten minutes)"
        )
        parser.add_argument(
            "--evaluate-every", type=int, metavar="N", help="environment steps; 0 for never (default: at the end)"
        )

    def run(self, arguments: Namespace) -> int:
        """Train to the end; 130 after Ctrl-C, 1 after an error in training."""
        given = vars(arguments)
        if "resume" not in given and "task" not in given:
            raise InvalidInput("train needs a task, for example `bonuslab train MultiRoom-N6 --bonus e3b`")
        settings, folder, checkpoint, problems = _prepare(given)
        from bonuslab.platform.run.single_run import TrainingFailed, train

        display = Progress(settings.steps)
        for problem in problems:
            display.note(f"warning: {problem}")
        try:
            outcome = train(settings, folder, display, checkpoint)
        except TrainingFailed as error:
            display.end_line()
            print(f"bonuslab: {error}", file=sys.stderr)
            return 1
        except (InvalidInput, KeyboardInterrupt):
            if "resume" not in given and folder.is_empty():
                folder.discard()
            raise
        finally:
            display.end_line()
            folder.release()
        _summarise(settings, folder, outcome)
        return 0 if outcome.stopped_by is None else 128 + outcome.stopped_by


_Begun = tuple["RunSettings", "RunFolder", Path | None, list[str]]


def _prepare(given: dict) -> _Begun:
    """Check everything; nothing has been started when this fails."""
    loading = Progress(1)
    if sys.stdout.isatty():
        loading.waiting("loading PyTorch and RLlib")
    try:
        from bonuslab.platform.run.ray_session import silence_notices

        silence_notices()
        return _resumed(given) if "resume" in given else _begun(given)
    finally:
        loading.clear()


def _begun(given: dict) -> _Begun:
    """A new run, with its folder made."""
    from bonuslab.platform.run.config import RunSettings, parse_env_setting, parse_override
    from bonuslab.platform.run.run_folder import RunFolder, default_path

    fields = {_FIELDS[name]: value for name, value in given.items() if name in _FIELDS}
    algorithm = given.get("algorithm", RunSettings.algorithm)
    fields["overrides"] = tuple(dict(parse_override(text, algorithm) for text in given.get("set", ())).items())
    fields["env"] = tuple(dict(parse_env_setting(text) for text in given.get("env", ())).items())
    # Absolute, so that the run can be resumed from anywhere.
    fields["plugins"] = tuple(str(Path(path).expanduser().resolve()) for path in given.get("plugin", ()))
    settings = RunSettings(given["task"], **fields)
    path = Path(given["out"]).expanduser() if "out" in given else default_path(settings)
    return settings, RunFolder.create(path, settings), None, []


def _resumed(given: dict) -> _Begun:
    """A run that goes on from its newest whole checkpoint."""
    from bonuslab.platform.run.run_folder import RunFolder, checkpoint_steps

    for name in given:
        if name not in _WITH_RESUME and name != "resume":
            option = name if name == "task" else f"--{name.replace('_', '-')}"
            raise InvalidInput(f"{option} cannot be given with --resume: the run keeps what it began with")
    folder = RunFolder.open(Path(given["resume"]).expanduser())
    changes = {_FIELDS[name]: given[name] for name in _WITH_RESUME if name in given}
    settings = replace(folder.settings(), **changes)
    checkpoint, problems = folder.newest_checkpoint()
    if checkpoint is None:
        problems.append(f"{folder.path} has no checkpoint yet: the run starts from its beginning")
    else:
        if checkpoint_steps(checkpoint) >= settings.steps:
            raise InvalidInput(
                f"the run in {folder.path} has reached its {settings.steps:,} steps; go on with a higher --steps"
            )
        folder.set_aside_newer(checkpoint)
    if changes:
        folder.write_settings(settings)
    return settings, folder, checkpoint, problems


def _summarise(settings: RunSettings, folder: RunFolder, outcome: Outcome) -> None:
    row = outcome.row
    how = "finished" if outcome.stopped_by is None else "stopped"
    print(f"{settings.task} with bonus {settings.bonus}, seed {settings.seed}: {how} at {row['env_steps']:,} steps")
    print(f"  time       {duration(row['wall_seconds'])}")
    print(f"  training   {outcome_text(row) if 'episode_return' in row else 'no episode has ended yet'}")
    for mode in ("greedy", "sampled"):
        place = f"evaluation/{mode}"
        if f"{place}/win_rate" in row:
            print(f"  {mode:<10} {outcome_text(row, place)}  on held-out contexts")
    print(f"  folder     {folder.path}")
    if outcome.stopped_by is not None:
        print(f"  go on with bonuslab train --resume {folder.path}")
    print(f"  watch with bonuslab watch {folder.path}")

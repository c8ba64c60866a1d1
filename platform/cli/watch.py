"""`bonuslab watch`: see a trained policy play, with the bonus of every step under the picture."""

from __future__ import annotations

import math
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.cli.play import DELAY_SECONDS
from bonuslab.platform.pictures.show import play, video_of
from bonuslab.platform.pictures.video import picture_path

# RLlib takes seconds to import: it is loaded once a checkpoint is to be read, not for `--help`.


class WatchCommand:
    """See `help`."""

    help = "see a trained policy play, with its bonus step by step, or save a picture of it"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command's arguments."""
        parser.add_argument("path", help="the folder of a run, or one of its checkpoints")
        parser.add_argument("--context", type=int, metavar="ID", help="play this context; otherwise one is drawn")
        parser.add_argument("--seed", type=int, default=0, help="of contexts and actions (default 0)")
        parser.add_argument("--greedy", action="store_true", help="take the likeliest action instead of drawing one")
        parser.add_argument("--episodes", type=int, default=1, metavar="N", help="how many (default 1)")
        parser.add_argument(
            "--delay",
            type=float,
            default=DELAY_SECONDS,
            metavar="S",
            help=f"seconds per step, or per picture of a .gif (default {DELAY_SECONDS})",
        )
        parser.add_argument("--save", metavar="FILE", help="write a .gif of the episodes, or a .png of the last one")

    def run(self, arguments: Namespace) -> int:
        """Load, play, draw."""
        path = picture_path(arguments.save) if arguments.save else None
        for name, low in (("seed", 0), ("delay", 0), ("episodes", 1)):
            value = getattr(arguments, name)
            if not low <= value < math.inf:
                raise InvalidInput(f"--{name} {value} cannot be used; it must be {low} or more")
        checkpoint = find_checkpoint(Path(arguments.path).expanduser())
        from bonuslab.platform.run.agent import TrainedAgent

        agent = TrainedAgent.load(checkpoint)
        shows = play(agent, arguments.seed, arguments.greedy, arguments.context, arguments.episodes)
        if path is not None:
            video_of(shows).save(path, arguments.delay)
        else:
            for show in shows:
                show.in_terminal(arguments.delay)
        for show in shows:
            print(show.summary())
        if path is not None:
            print(f"saved {path}")
        return 0


def find_checkpoint(path: Path) -> Path:
    """The checkpoint itself, or the newest whole one of a run."""
    from bonuslab.algorithms.learning.checkpoint import MANIFEST
    from bonuslab.platform.run.ray_session import silence_notices
    from bonuslab.platform.run.run_folder import CHECKPOINTS, RunFolder

    silence_notices()
    if not path.is_dir():
        raise InvalidInput(f"{path} is neither the folder of a run nor a checkpoint: there is no such folder")
    if (path / MANIFEST).is_file():
        return path
    if not (path / CHECKPOINTS).is_dir():
        raise InvalidInput(f"{path} is neither the folder of a run (it has no {CHECKPOINTS}) nor a whole checkpoint")
    found, problems = RunFolder(path).newest_checkpoint()
    for problem in problems:
        print(f"warning: {problem}", file=sys.stderr)
    if found is None:
        raise InvalidInput(f"the run in {path} has no checkpoint yet")
    return found

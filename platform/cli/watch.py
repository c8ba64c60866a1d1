"""`bonuslab watch`: watch a trained policy play, with the bonus per step."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from bonuslab.platform.cli.command import add_trust
from bonuslab.platform.cli.play import DELAY_SECONDS
from bonuslab.platform.grid.arguments import check_options
from bonuslab.platform.run.find import find


class WatchCommand:
    """See `help`."""

    help = "watch a trained policy play, with the bonus per step, or save a video of it"
    example = "bonuslab watch runs/NAME --greedy --save episode.mp4"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command's arguments."""
        parser.add_argument("run", help="name or folder of a run or trial, or one of its checkpoints")
        parser.add_argument("--context", type=int, metavar="ID", help="context to play (default: a random one)")
        parser.add_argument("--seed", type=int, default=0, help="random seed of contexts and actions (default 0)")
        parser.add_argument("--greedy", action="store_true", help="take greedy instead of sampled actions")
        parser.add_argument("--episodes", type=int, default=1, metavar="N", help="number of episodes (default 1)")
        parser.add_argument(
            "--delay",
            type=float,
            default=DELAY_SECONDS,
            metavar="S",
            help=f"seconds per step, or per frame of a video (default {DELAY_SECONDS})",
        )
        add_trust(parser)
        parser.add_argument("--save", metavar="FILE", help="save an .mp4 or .gif, or a .png of the last episode")

    def run(self, arguments: Namespace) -> int:
        """Play, then show or save the episodes."""
        check_options(vars(arguments), seed=0, delay=0, episodes=1)
        from bonuslab.platform.pictures.show import play, video_of
        from bonuslab.platform.pictures.video import picture_path

        path = picture_path(arguments.save) if arguments.save else None
        checkpoint = find_checkpoint(arguments.run)
        from bonuslab.platform.run.agent import TrainedAgent

        agent = TrainedAgent.load(checkpoint, arguments.trust)
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


def find_checkpoint(given: str) -> Path:
    """A checkpoint's folder, or the newest intact checkpoint of a run or trial."""
    from bonuslab.algorithms.learning.checkpoint import MANIFEST
    from bonuslab.platform.run.checkpoints import newest_checkpoint
    from bonuslab.platform.run.ray_session import silence_notices

    silence_notices()
    path = Path(given).expanduser()
    return path if (path / MANIFEST).is_file() else newest_checkpoint(find(given))

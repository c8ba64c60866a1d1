"""`bonuslab watch`: watch trained policies play, with the bonus per step."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from os.path import expanduser
from pathlib import Path

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.cli.command import add_trust
from bonuslab.platform.cli.play import DELAY_SECONDS
from bonuslab.platform.grid.arguments import check_options
from bonuslab.platform.run.find import Found, find
from bonuslab.platform.run.zoo import PREFIX, folder_of


class WatchCommand:
    """See `help`."""

    help = "watch trained policies play, with the bonus per step, or save a video of them"
    example = "bonuslab watch runs/NAME --greedy --episodes 4 --save episodes.mp4"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command's arguments."""
        parser.add_argument(
            "run",
            nargs="+",
            help="name or folder of a run or trial, one of its checkpoints, zoo:NAME (`bonuslab zoo`), or a grid "
            "(one trial per bonus plays)",
        )
        parser.add_argument("--context", type=int, metavar="ID", help="context to play (default: a random one)")
        parser.add_argument("--seed", type=int, default=0, help="random seed of contexts and actions (default 0)")
        parser.add_argument("--greedy", action="store_true", help="take greedy instead of sampled actions")
        parser.add_argument(
            "--episodes", type=int, default=1, metavar="N", help="episodes of each, side by side in a video (default 1)"
        )
        parser.add_argument(
            "--delay",
            metavar="S",
            type=float,
            default=DELAY_SECONDS,
            help=f"seconds per step, or per frame of a video (default {DELAY_SECONDS})",
        )
        add_trust(parser)
        parser.add_argument("--save", metavar="FILE", help="save an .mp4 or .gif, or a .png of the last episode")

    def run(self, arguments: Namespace) -> int:
        """Play, then show or save the episodes."""
        check_options(vars(arguments), seed=0, delay=0, episodes=1)
        from bonuslab.platform.pictures import side_by_side
        from bonuslab.platform.pictures.show import play
        from bonuslab.platform.pictures.video import picture_path

        path = picture_path(arguments.save) if arguments.save else None
        chosen = [one for given in arguments.run for one in checkpoints_of(given)]
        if path is not None and len(chosen) * arguments.episodes > side_by_side.MOST:
            raise InvalidInput(
                f"{len(chosen)} runs with {arguments.episodes} episodes each do not fit into one video; "
                f"at most {side_by_side.MOST} episodes do"
            )
        from bonuslab.platform.run.agent import TrainedAgent

        shows = []
        for checkpoint, name in chosen:
            agent = TrainedAgent.load(checkpoint, arguments.trust)
            played = play(agent, arguments.seed, arguments.greedy, arguments.context, arguments.episodes)
            shows += [(name, show) for show in played]
        if path is not None:
            titles = [f"{name}, {show.title}" if name else show.title for name, show in shows]
            side_by_side.save([show for _, show in shows], titles, path, arguments.delay)
        else:
            for _, show in shows:
                show.in_terminal(arguments.delay)
        for name, show in shows:
            print(f"{name}: {show.summary()}" if len(chosen) > 1 else show.summary())
        if path is not None:
            print(f"saved {path}")
        return 0


def checkpoints_of(given: str) -> list[tuple[Path, str]]:
    """The checkpoint's folder, or the newest intact checkpoint of a run or trial, and a name for it.

    Of a grid with several trials, one per bonus: each bonus's first trial with a checkpoint, on the grid's first task.
    """
    from bonuslab.algorithms.learning.checkpoint import MANIFEST
    from bonuslab.platform.run.checkpoints import newest_checkpoint
    from bonuslab.platform.run.ray_session import silence_notices

    silence_notices()
    if given.startswith(PREFIX):
        return [(folder_of(given), given)]
    path = Path(expanduser(given))
    if (path / MANIFEST).is_file():
        return [(path, "")]
    found = find(given)
    if found.trial is not None:
        return [(newest_checkpoint(found), _name(found))]
    chosen: dict[tuple[str, ...], Found] = {}
    for trial in found.grid.trials():
        if trial.state().checkpoints:
            labels = trial.description().labels
            first = next(iter(chosen.values()), Found(found.grid, trial)).require_trial().description().labels
            if all(labels[key] == first[key] for key in ("task", "contexts")):
                chosen.setdefault((labels["bonus"], labels["variant"]), Found(found.grid, trial))
    if not chosen:
        raise InvalidInput(f"none of the {len(found.grid.trials())} trials of {found.grid.path} has a checkpoint yet")
    names = [one.require_trial().id for one in chosen.values()]
    print(
        f"{found.grid.path.name}: one trial per bonus ({', '.join(names)}); name a trial to watch another", flush=True
    )
    return [(newest_checkpoint(one), _name(one)) for one in chosen.values()]


def _name(found: Found) -> str:
    labels = found.require_trial().description().labels
    return f"{labels['bonus']}, seed {labels['seed']}"

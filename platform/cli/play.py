"""`bonuslab play`: watch a random or scripted agent play one episode, or save a picture of it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from bonuslab.platform.grid.arguments import check_options

AGENTS = ("random", "scripted")
DELAY_SECONDS = 0.1


class PlayCommand:
    """See `help`."""

    help = "watch a random or scripted agent play a task, or save a video of it"
    example = "bonuslab play Apartments-64 --agent scripted --save episode.gif"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command's arguments."""
        parser.add_argument("task", help="name of an environment (`bonuslab tasks`)")
        parser.add_argument("--context", type=int, metavar="ID", help="context to play (default: a random one)")
        parser.add_argument("--contexts", metavar="N", help="draw from N contexts (default: as many as there are)")
        parser.add_argument("--seed", type=int, default=0, help="random seed of the context and the agent (default 0)")
        parser.add_argument("--steps", type=int, metavar="N", help="stop after N steps (default: at the episode's end)")
        parser.add_argument(
            "--agent",
            default="random",
            help=f"{' or '.join(AGENTS)} (default random); scripted only on MiniHack and houses",
        )
        parser.add_argument(
            "--delay",
            type=float,
            default=DELAY_SECONDS,
            metavar="S",
            help=f"seconds per step (default {DELAY_SECONDS})",
        )
        parser.add_argument("--save", metavar="FILE", help="save an .mp4 or .gif of the episode, or a .png summary")

    def run(self, arguments: Namespace) -> int:
        """Play one episode."""
        check_options(vars(arguments), seed=0, steps=0, delay=0)
        from bonuslab.platform.cli.play_episode import play_episode

        play_episode(
            arguments.task,
            arguments.agent,
            arguments.context,
            arguments.contexts,
            arguments.seed,
            arguments.steps,
            arguments.delay,
            arguments.save,
        )
        return 0

"""`bonuslab watch`: see a trained policy play, with the bonus of every step under the map."""

from __future__ import annotations

import math
import shutil
import sys
import time
from argparse import ArgumentParser, Namespace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.minihack import Task, render
from bonuslab.envs.minihack.contexts import check_context
from bonuslab.platform.cli import bonus_plot
from bonuslab.platform.cli.film import Film, picture_path
from bonuslab.platform.cli.play import DELAY_SECONDS, Moment
from bonuslab.platform.cli.screen import Screen

if TYPE_CHECKING:
    from bonuslab.platform.trained_agent import Recording, TrainedAgent

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
            help=f"seconds per step (default {DELAY_SECONDS})",
        )
        parser.add_argument("--save", metavar="FILE", help="write a .gif of the episodes or a .png of the last moment")

    def run(self, arguments: Namespace) -> int:
        """Load, play, draw."""
        path = picture_path(arguments.save) if arguments.save else None
        for name, low in (("seed", 0), ("delay", 0), ("episodes", 1)):
            value = getattr(arguments, name)
            if not low <= value < math.inf:
                raise InvalidInput(f"--{name} {value} cannot be used; it must be {low} or more")
        if arguments.context is not None:
            check_context(arguments.context)
        checkpoint = find_checkpoint(Path(arguments.path).expanduser())
        from bonuslab.platform.trained_agent import TrainedAgent

        agent = TrainedAgent.load(checkpoint)
        recordings = _play(agent, arguments)
        shows = [Show(recording, agent, arguments.greedy) for recording in recordings]
        if path is not None:
            film = Film(bonus_plot.COLOURS)
            for show in shows:
                show.film(film)
            film.save(path, arguments.delay)
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
    from bonuslab.algorithms.checkpoint import MANIFEST
    from bonuslab.platform.ray_session import silence_notices
    from bonuslab.platform.run_folder import CHECKPOINTS, RunFolder

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


def _play(agent: TrainedAgent, arguments: Namespace) -> list[Recording]:
    import torch

    random = torch.Generator().manual_seed(arguments.seed)
    env = agent.make_env(arguments.seed)
    try:
        return [agent.play(env, random, arguments.greedy, arguments.context) for _ in range(arguments.episodes)]
    finally:
        env.close()


class Show:
    """One episode, ready to be drawn."""

    def __init__(self, recording: Recording, agent: TrainedAgent, greedy: bool) -> None:
        from bonuslab.envs.minihack import task

        self._recording = recording
        self._task: Task = task(agent.config.env)
        self._how = "greedy" if greedy else "sampled"
        self.series = _series(recording, agent)
        self.moments = self._moments()

    def film(self, film: Film) -> None:
        """Add every moment, with the bonus so far under it."""
        for moment in self.moments:
            below = partial(bonus_plot.panel, self.series, moment.step)
            film.add(moment.observation, moment.status(), below, hold=bool(moment.ending))

    def in_terminal(self, delay: float) -> None:
        """Draw every moment in place, or the last one alone where the output is no terminal or too small."""
        box = render.used_part(np.stack([moment.observation["glyphs"] for moment in self.moments]), margin=0)
        columns, rows = shutil.get_terminal_size()
        if not sys.stdout.isatty() or columns < box.width or rows < box.height + len(self.series) + 4:
            print("\n".join(self._lines(self.moments[-1], box, min(columns, 100), colour=False)))
            return
        with Screen() as screen:
            for moment in self.moments:
                screen.show(self._lines(moment, box, columns - 1, colour=True))
                if not moment.ending:
                    time.sleep(delay)

    def summary(self) -> str:
        """What came of the episode, in one line."""
        last, total = self.moments[-1], float(self._recording.bonus.sum())
        played = f"{self._task.name} context {last.context}, {self._how}: {last.ending} after {last.step} steps"
        return f"{played}, return {last.total_reward:.2f}, bonus {total:.3g} in all"

    def _lines(self, moment: Moment, box: render.Box, width: int, colour: bool) -> list[str]:
        glyphs, blstats = moment.observation["glyphs"], moment.observation["blstats"]
        picture = render.text_lines(glyphs, render.agent_cell(blstats), box, colour)
        message = render.message_text(moment.observation["message"])[:width]
        return [
            message,
            *picture,
            moment.status()[:width],
            *bonus_plot.text_lines(self.series, moment.step, width, colour),
        ]

    def _moments(self) -> list[Moment]:
        recording, shown = self._recording, self._recording.observations[0]
        moments = []
        for step, observation in enumerate(recording.observations):
            if observation["blstats"].any():  # all zero after a death, as are the map and the message
                shown = observation
            moments.append(
                Moment(
                    observation=shown,
                    context=recording.context,
                    step=step,
                    action=self._task.action_names[recording.actions[step - 1]] if step else "",
                    total_reward=sum(recording.rewards[:step]),
                    ending=recording.ending if step == len(recording.actions) else "",
                )
            )
        return moments


def _series(recording: Recording, agent: TrainedAgent) -> list[bonus_plot.Series]:
    """The whole bonus, and its two parts where it has both."""
    series = [bonus_plot.Series("bonus", f"bonus: {agent.bonus.bonus}", recording.bonus)]
    values = {"episodic": recording.bonus_episodic, "global": recording.bonus_global}
    series += [bonus_plot.Series(scope, f"{scope}: {part}", values[scope]) for scope, part in agent.parts.items()]
    return series

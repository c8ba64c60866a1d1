"""`bonuslab tour`: a random policy visits every task of a suite for a moment."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from dataclasses import dataclass, field

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.minihack import MiniHackVectorEnv, Task
from bonuslab.platform.cli.tasks import short_name, tasks_of
from bonuslab.platform.pictures.table import print_table

NUM_ENVS = 8
HEADERS = ("task", "steps/s", "steps", "episodes", "mean return", "wins")


@dataclass
class Visit:
    """What happened on one task."""

    steps: int = 0
    seconds: float = 0.0
    returns: list[float] = field(default_factory=list)
    wins: int = 0


def visit(task: Task, end: float, share: int, seed: int) -> Visit:
    """Random actions in a few environments for a `share`-th of the time left until `end`, but at least one step."""
    result = Visit()
    rng = np.random.default_rng(seed)
    envs = MiniHackVectorEnv(task, NUM_ENVS, contexts="inf", seed=seed)
    try:
        envs.reset()  # the first level of a kind takes a second to compile, which is no part of the speed
        started = time.perf_counter()
        until = started + (end - started) / share
        while True:
            step = envs.step(rng.integers(len(task.actions), size=NUM_ENVS))
            result.steps += NUM_ENVS
            for episode in step.finished:
                result.returns.append(episode.total_reward)
                result.wins += episode.end_status == "won"
            if time.perf_counter() >= until:
                break
        result.seconds = time.perf_counter() - started
    finally:
        envs.close()
    return result


class TourCommand:
    """See `help`."""

    help = "let a random policy visit every task of a suite, and show its speed and returns"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command's arguments."""
        parser.add_argument("--seconds", type=float, default=30.0, help="for the whole tour (default 30)")
        parser.add_argument("--suite", default="paper16", help="which tasks (default paper16)")
        parser.add_argument("--seed", type=int, default=0, help="of contexts and actions (default 0)")

    def run(self, arguments: Namespace) -> int:
        """Tour, then print one line a task."""
        tasks = tasks_of(arguments.suite)
        if not 0 < arguments.seconds < float("inf"):
            raise InvalidInput(f"--seconds {arguments.seconds:g} cannot be used; it must be more than 0")
        if arguments.seed < 0:
            raise InvalidInput(f"--seed {arguments.seed} cannot be used; it must be 0 or more")
        visits = _tour(tasks, arguments.seconds, arguments.seed)
        print_table(
            HEADERS,
            [_row(short_name(task), [result]) for task, result in zip(tasks, visits, strict=True)],
            numbers=HEADERS[1:],
            footer=_row("all", visits),
        )
        return 0


def _tour(tasks: list[Task], seconds: float, seed: int) -> list[Visit]:
    """One visit a task, with a progress bar on the error stream."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TimeRemainingColumn(),
    )
    visits = []
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as progress:
        bar = progress.add_task("", total=len(tasks))
        end = time.perf_counter() + seconds
        for number, task in enumerate(tasks):
            progress.update(bar, description=short_name(task))
            visits.append(visit(task, end, len(tasks) - number, seed))
            progress.advance(bar)
    return visits


def _row(name: str, visits: list[Visit]) -> list[str]:
    """One line of the table; several visits are summed."""
    steps = sum(visit.steps for visit in visits)
    seconds = sum(visit.seconds for visit in visits)
    returns = [value for visit in visits for value in visit.returns]
    mean = f"{round(float(np.mean(returns)), 3) + 0.0:.3f}" if returns else "-"  # + 0.0 makes -0.0 positive
    return [name, f"{steps / seconds:,.0f}", f"{steps:,}", f"{len(returns):,}", mean, str(sum(v.wins for v in visits))]

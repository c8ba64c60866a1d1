"""When a grid will be done, from the speed of its trials so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median


@dataclass(frozen=True)
class Pending:
    """What the forecast needs to know of one trial."""

    status: str
    bonus: str
    env_steps: int
    total_env_steps: int
    """0 where the trial has not said yet."""
    speed: float | None
    """Environment steps a second; None before its first row."""


def seconds_left(trials: Sequence[Pending]) -> float | None:
    """Time until the last trial ends, if as many go on running at once as run now; None where nobody can know.

    A trial that has not begun is taken to be as fast as those with its bonus, which decides most of the cost, or else
    as all others. Failed trials are over.
    """
    left = [trial for trial in trials if trial.status in ("running", "waiting")]
    if not left:
        return 0.0
    running = [trial for trial in left if trial.status == "running"]
    speeds = {trial.bonus: [] for trial in trials}  # type: dict[str, list[float]]
    for trial in trials:
        if trial.speed:
            speeds[trial.bonus].append(trial.speed)
    known = [speed for of_bonus in speeds.values() for speed in of_bonus]
    if not running or not known:
        return None
    totals = [trial.total_env_steps for trial in trials if trial.total_env_steps]

    def seconds(trial: Pending) -> float:
        speed = trial.speed or fmean(speeds[trial.bonus] or known)
        return max(0.0, (trial.total_env_steps or median(totals)) - trial.env_steps) / speed

    # No schedule can be shorter than its longest trial, nor than the work shared out evenly.
    return max(max(map(seconds, running)), sum(map(seconds, left)) / len(running))

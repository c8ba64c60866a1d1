"""The time left of a grid, estimated from the speed of its trials so far."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean, median

from bonuslab.platform.run.state import TrialState


def seconds_left(trials: Iterable[tuple[str, TrialState]], slots: int | None = None) -> float | None:
    """Time until the last trial ends, given each trial's bonus and state; None if unknown yet.

    Work is spread over `slots` concurrent trials (default: as many as are running), and no schedule is shorter than
    its longest trial. A trial without a measured speed gets the mean of the trials with its bonus, which dominates the
    cost, or else of all trials. Failed trials count as done.
    """
    known = list(trials)
    left = [(bonus, state) for bonus, state in known if state.status in ("running", "waiting")]
    if not left:
        return 0.0
    if slots is None:
        slots = sum(state.status == "running" for _, state in left)
    speeds: dict[str, list[float]] = {}
    for bonus, state in known:
        if state.steps_per_second:
            speeds.setdefault(bonus, []).append(state.steps_per_second)
    if not speeds or not slots:
        return None
    everywhere = [speed for found in speeds.values() for speed in found]
    usual_steps = median([state.total_env_steps for _, state in known if state.total_env_steps] or [0])

    def seconds(bonus: str, state: TrialState) -> float:
        speed = state.steps_per_second or fmean(speeds.get(bonus, everywhere))
        return max(0.0, (state.total_env_steps or usual_steps) - state.env_steps) / speed

    each = [seconds(bonus, state) for bonus, state in left]
    return max(max(each), sum(each) / slots)

"""CPU seconds until 90 % of episodes are won: the `laptop` preset of this code beside that of an earlier revision.

    python experiments/speed.py time-to-solve

Both sides train in processes of their own, one thread each, and take turns. Building and compiling are not counted.
The seeds were not used to choose the preset.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bonuslab.experiments.benchmarks.measurement import Measurement
from bonuslab.experiments.benchmarks.timing import announce
from bonuslab.experiments.benchmarks.training import checkout, start_worker, train

BASELINE = "54a96d8"
"""The last revision before the present networks and preset."""
WON = 0.9
SETTLED_STEPS = 50_000
"""Before that, most episodes that have ended are the short ones, and those were won."""
LIMIT_STEPS = 600_000
TURN_STEPS = 20_000
SEEDS = (201, 202, 203)
CASES: dict[str, dict[str, Any]] = {
    "MultiRoom-N6-S5, count": {"task": "MultiRoom-N6-S5", "bonus": "count.episodic(position)"},
    "MultiRoom-N6-S5, e3b": {"task": "MultiRoom-N6-S5", "bonus": "e3b"},
    "KeyRoom-S5, count": {"task": "KeyRoom-S5", "bonus": "count.episodic(message)"},
}
QUICK_CASES = 1
SIDES = ("ours", "peer")


def run(case: str, quick: bool, against: str | None = None) -> list[Measurement]:
    """Mean over seeds, of which `quick` has one."""
    totals, unsolved = [0.0, 0.0], [0, 0]
    seeds = SEEDS[: 1 if quick else None]
    with checkout(against or BASELINE) as peer:
        for seed in seeds:
            announce(f"time to solve, {case}, seed {seed}")
            race = _race(CASES[case] | {"serial": True, "seed": seed}, peer)
            for side, (seconds, steps, solved) in enumerate(race):
                outcome = "solved" if solved else "not solved"
                announce(f"  {SIDES[side]}: {outcome} after {steps:,} steps, {seconds:.1f} CPU s")
                totals[side] += seconds
                unsolved[side] += not solved
    note = "".join(
        f", {who} unsolved on {count} of {len(seeds)} seeds"
        for who, count in zip(SIDES, unsolved, strict=True)
        if count
    )
    ours, theirs = (total / len(seeds) for total in totals)
    title = f"CPU time until {WON:.0%} won, {case}{note}; peer: {against or BASELINE}"
    return [Measurement(title, ours, theirs, "CPU s")]


def _race(settings: dict[str, Any], peer: Path) -> list[tuple[float, int, bool]]:
    """CPU seconds, steps and whether the task was solved, of this code and of the peer."""
    outcome: list[tuple[float, int, bool]] = [(0.0, 0, False)] * 2
    with ExitStack() as stack:
        workers = [stack.enter_context(start_worker(settings, folder)) for folder in (None, peer)]
        for worker in workers:
            train(worker, 1)
        running = {0, 1}
        while running:
            for side in sorted(running):
                seconds, steps, solved = outcome[side]
                target = steps + TURN_STEPS
                while steps < target and not solved:
                    used, taken, won = train(workers[side], 1)
                    seconds, steps = seconds + used, steps + taken
                    solved = steps >= SETTLED_STEPS and won is not None and won >= WON
                outcome[side] = seconds, steps, solved
                if solved or steps >= LIMIT_STEPS:
                    running.discard(side)
    return outcome

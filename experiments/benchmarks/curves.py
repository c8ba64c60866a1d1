"""Whether this code learns as an earlier revision does, with the network and hyperparameters of that one's preset.

    python experiments/speed.py curves

Faster code must not learn worse: the share of episodes won during the last third of training, mean over three seeds.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bonuslab.experiments.benchmarks.measurement import Measurement
from bonuslab.experiments.benchmarks.time_to_solve import BASELINE, SIDES
from bonuslab.experiments.benchmarks.timing import announce
from bonuslab.experiments.benchmarks.training import Case, checkout, same_network, start_worker, train

SEEDS = (1, 2, 3)
CASES: dict[str, tuple[Case, int]] = {
    "MultiRoom-N6-S5, count": (same_network("MultiRoom-N6-S5", "count.episodic(position)"), 240_000),
    "KeyRoom-S5, count": (same_network("KeyRoom-S5", "count.episodic(message)"), 240_000),
    "Freeze-Horn-Restricted, count": (same_network("Freeze-Horn-Restricted", "count.episodic(position)"), 120_000),
}
"""What both train, and for how many steps."""
QUICK_CASES = 1


def run(case: str, quick: bool, against: str | None = None) -> list[Measurement]:
    """Mean over seeds, of which `quick` has one."""
    settings, num_steps = CASES[case]
    won: tuple[list[float], list[float]] = ([], [])
    with checkout(against or BASELINE) as peer:
        for seed in SEEDS[: 1 if quick else None]:
            announce(f"learning curves, {case}, seed {seed}")
            with ThreadPoolExecutor(2) as pool:  # time is not measured, so both may run at once
                curves = pool.map(partial(_curve, settings.of_seed(seed), num_steps), (None, peer))
            for side, curve in enumerate(curves):
                thirds = [np.mean(part) for part in np.array_split(curve, 3)]
                announce(f"  {SIDES[side]}: won in each third " + ", ".join(f"{share:.1%}" for share in thirds))
                won[side].append(float(thirds[-1]))
    title = f"won in the last third of {num_steps:,} steps, same network, {case}; peer: {against or BASELINE}"
    ours, theirs = (100 * float(np.mean(shares)) for shares in won)
    return [Measurement(title, ours, theirs, "% of episodes", True)]


def _curve(settings: dict[str, Any], num_steps: int, folder: Path | None) -> list[float]:
    """The share of recent episodes won, after each update."""
    shares, steps = [], 0
    with start_worker(settings, folder) as worker:
        while steps < num_steps:
            _seconds, taken, won = train(worker, 1)
            shares.append(won or 0.0)
            steps += taken
    return shares

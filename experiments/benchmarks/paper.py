"""CPU time per frame of the `paper` preset by part, beside what its multiplications would take at the peak of sgemm.

    python experiments/speed.py paper

The bound counts the networks' multiplications and additions as they are done: of distinct states and drawn regions
only, with those of gradients. The rest is memory traffic, element-wise functions, the environment and NumPy's products,
which are not counted. `speed.py combinations` has the same preset beside another revision.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import torch
from torch.utils.flop_counter import FlopCounterMode

from bonuslab.algorithms.impala.config import IMPALAConfig
from bonuslab.algorithms.impala.hyperparameters import PAPER
from bonuslab.algorithms.networks import lstm
from bonuslab.experiments.benchmarks.measurement import Measurement
from bonuslab.experiments.benchmarks.timing import announce, best_cpu_seconds, single_thread

TASK = "MultiRoom-N6-Lava"
BONUSES = ("none", "e3b * rnd")
ENVS, LEARNER_ENVS = 32, 8
"""The envs that act together, and those of a batch for the learner, as in the paper."""
ROUNDS = 6
PEAK_SIZE = 2048
"""Rows and columns of the product that shows the peak."""


def run(quick: bool) -> list[Measurement]:
    """All parts with and without a bonus; `quick` has one round."""
    with single_thread():
        return [row for bonus in BONUSES for row in _rows(bonus, rounds=1 if quick else ROUNDS)]


def _rows(bonus: str, rounds: int) -> Iterator[Measurement]:
    announce(f"paper preset, {bonus}")
    with _training(bonus) as play:
        peaks = [_peak()]
        spent = dict.fromkeys(play(), 0.0)  # the first round warms up
        for _ in range(rounds):
            for part, (seconds, _flops) in play().items():
                spent[part] += seconds / rounds
            peaks.append(_peak())
        with mock.patch.object(lstm, "is_compiled", return_value=False):  # its twin's products can be counted
            flops = {part: found for part, (_seconds, found) in play(count=True).items()}
    frames, peak = ENVS * PAPER.values.rollout_fragment_length, max(peaks)
    announce(f"  sgemm at {peak / 1e9:.0f} GFLOP/s; MFLOP per frame: " + ", ".join(
        f"{part} {found / frames / 1e6:.1f}" for part, found in flops.items()
    ))  # fmt: skip
    name = f"paper preset, {TASK}, {bonus}"
    for part, seconds in (spent | {"all": sum(spent.values())}).items():
        found = sum(flops.values()) if part == "all" else flops[part]
        title = f"{name}, {part}" + ("; peer: its products at sgemm's peak" if found else "")
        yield Measurement(title, 1e3 * seconds / frames, 1e3 * found / peak / frames if found else None, "CPU ms/frame")


@contextmanager
def _training(bonus: str) -> Iterator[Any]:
    """A function that acts, computes bonuses and learns: CPU seconds and counted operations of each part."""
    config = IMPALAConfig().environment(TASK).debugging(seed=0, log_level="ERROR").apply(PAPER.values)
    algorithm = config.bonus(bonus).env_runners(num_envs_per_env_runner=ENVS).run_serially().build_algo()
    learner = algorithm.learner_group._learner
    batches: list[Any] = []

    def act() -> None:
        fragment = algorithm.env_runner.sample()
        begins = range(0, ENVS, LEARNER_ENVS)
        batches[:] = [fragment.select_envs(range(begin, begin + LEARNER_ENVS)) for begin in begins]

    def compute_bonus() -> None:
        for batch in batches:
            batch.extra |= algorithm.bonus._bonus.process(batch)[0].columns

    def learn() -> None:
        for batch in batches:
            learner.update(batch)

    def play(count: bool = False) -> dict[str, tuple[float, float]]:
        found = {}
        for part, work in (("acting", act), ("bonus", compute_bonus), ("learning", learn)):
            with ExitStack() as stack:
                counter = stack.enter_context(FlopCounterMode(display=False)) if count else None
                started = time.process_time()
                work()
                found[part] = time.process_time() - started, counter.get_total_flops() if counter else 0.0
        return found

    try:
        yield play
    finally:
        algorithm.stop()


def _peak() -> float:
    """Operations per second of a large product."""
    left, right = torch.rand(2, PEAK_SIZE, PEAK_SIZE)
    return 2 * PEAK_SIZE**3 / best_cpu_seconds(lambda: left @ right, repeats=3)

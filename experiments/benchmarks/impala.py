"""Training speed of IMPALA beside RLlib's own, the cost of a bonus, and CPU time per frame by part."""

from __future__ import annotations

import os

import ray
import torch

from bonuslab.algorithms.impala.config import IMPALAConfig
from bonuslab.algorithms.impala.hyperparameters import LAPTOP, PAPER
from bonuslab.algorithms.impala.resources import IMPALAResources
from bonuslab.experiments.benchmarks.measurement import Measurement
from bonuslab.experiments.benchmarks.stock_impala import stock_config
from bonuslab.experiments.benchmarks.timing import trained_per_second

FREEZE, LAVA = "Freeze-Horn-Restricted", "MultiRoom-N6-Lava"
STOCK_CHOICES = ((1, 16), (1, 32), (2, 16))
"""(runners, envs per runner) of RLlib's IMPALA; its fastest counts."""


def run(quick: bool) -> list[Measurement]:
    """Steps trained per second, and CPU ms per frame of the `paper` preset; `quick` omits most cases."""
    seconds = 4.0 if quick else 60.0
    ray.init(num_cpus=4, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    try:
        cases = [(FREEZE, "none"), (FREEZE, "e3b * rnd")] + ([] if quick else [(FREEZE, "e3b"), (LAVA, "e3b")])
        ours = {
            (task, bonus): trained_per_second(f"ours, {task}, {bonus}", _laptop(task, bonus).build_algo, seconds)
            for task, bonus in cases
        }
        choices = STOCK_CHOICES[:1] if quick else STOCK_CHOICES
        stock = max(_stock_per_second(runners, envs, seconds) for runners, envs in choices)
    finally:
        ray.shutdown()
    bare, combined = ours[FREEZE, "none"], ours[FREEZE, "e3b * rnd"]
    rows = [
        Measurement("laptop, Freeze-Horn, no bonus; peer: RLlib's IMPALA", bare, stock, "steps/s", True),
        Measurement("laptop, Freeze-Horn, e3b * rnd; peer: no bonus", combined, bare, "steps/s", True),
    ]
    rows += [
        Measurement(f"laptop, {task}, e3b", speed, None, "steps/s", True)
        for (task, bonus), speed in ours.items()
        if bonus == "e3b"
    ]
    for bonus in ("e3b * rnd",) if quick else ("none", "e3b * rnd"):
        rows += _paper_milliseconds(bonus, fragments=1 if quick else 6)
    return rows


def _laptop(task: str, bonus: str) -> IMPALAConfig:
    config = IMPALAConfig().environment(task).debugging(seed=0, log_level="ERROR").apply(LAPTOP.values)
    return IMPALAResources().configure(config).bonus(bonus).reporting(min_time_s_per_iteration=2)


def _stock_per_second(runners: int, envs: int, seconds: float) -> float:
    config = stock_config(FREEZE, "small", runners, envs, unroll=32, batch_steps=32 * envs)
    return trained_per_second(f"RLlib, {runners} × {envs}", config.build_algo, seconds)


def _paper_milliseconds(bonus: str, fragments: int) -> list[Measurement]:
    """CPU ms per frame of the `paper` preset in one process, by part, on MultiRoom-N6-Lava, the slower task."""
    torch.set_num_threads(1)
    config = IMPALAConfig().environment(LAVA).debugging(seed=0, log_level="ERROR").apply(PAPER.values)
    # 32 envs act together; the learner gets batches of eight envs, as in the paper.
    config.bonus(bonus).env_runners(num_envs_per_env_runner=32).run_serially()
    algorithm = config.build_algo()
    learner = algorithm.learner_group._learner
    parts = {"acting": 0.0, "bonus": 0.0, "learning": 0.0}
    frames = 0
    for number in range(fragments + 1):
        marks = [_cpu_seconds()]
        fragment = algorithm.env_runner.sample()
        marks.append(_cpu_seconds())
        batches = [fragment.select_envs(range(begin, begin + 8)) for begin in range(0, 32, 8)]
        for batch in batches:
            batch.extra |= algorithm.bonus._bonus.process(batch)[0].columns
        marks.append(_cpu_seconds())
        for batch in batches:
            learner.update(batch)
        marks.append(_cpu_seconds())
        if number:  # the first warms up
            frames += fragment.action.size
            for part, begin, end in zip(parts, marks[:-1], marks[1:], strict=True):
                parts[part] += 1000 * (end - begin)
    algorithm.stop()
    each = {part: total / frames for part, total in parts.items()}
    print(
        f"  paper preset, {bonus}: " + ", ".join(f"{part} {value:.2f} ms" for part, value in each.items()), flush=True
    )
    name = f"paper, {LAVA}, {bonus}"
    return [
        Measurement(f"{name}, CPU per frame", sum(each.values()), None, "ms"),
        *(Measurement(f"{name}, {part}", value, None, "ms") for part, value in each.items()),
    ]


def _cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system

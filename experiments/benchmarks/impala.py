"""Training speed of IMPALA beside RLlib's own, and the cost of a bonus."""

from __future__ import annotations

import ray

from bonuslab.algorithms.impala.config import IMPALAConfig
from bonuslab.algorithms.impala.hyperparameters import LAPTOP
from bonuslab.algorithms.impala.resources import IMPALAResources
from bonuslab.experiments.benchmarks.measurement import Measurement
from bonuslab.experiments.benchmarks.stock_impala import stock_config
from bonuslab.experiments.benchmarks.timing import trained_per_second

FREEZE, LAVA = "Freeze-Horn-Restricted", "MultiRoom-N6-Lava"
STOCK_CHOICES = ((1, 16), (1, 32), (2, 16))
"""(runners, envs per runner) of RLlib's IMPALA; its fastest counts."""


def run(quick: bool) -> list[Measurement]:
    """Steps trained per second; `quick` omits most cases."""
    seconds = 4.0 if quick else 60.0
    ray.init("local", num_cpus=4, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
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
    return rows + [
        Measurement(f"laptop, {task}, e3b", speed, None, "steps/s", True)
        for (task, bonus), speed in ours.items()
        if bonus == "e3b"
    ]


def _laptop(task: str, bonus: str) -> IMPALAConfig:
    config = IMPALAConfig().environment(task).debugging(seed=0, log_level="ERROR").apply(LAPTOP.values)
    return IMPALAResources().configure(config).bonus(bonus).reporting(min_time_s_per_iteration=2)


def _stock_per_second(runners: int, envs: int, seconds: float) -> float:
    config = stock_config(FREEZE, "small", runners, envs, unroll=32, batch_steps=32 * envs)
    return trained_per_second(f"RLlib, {runners} × {envs}", config.build_algo, seconds)

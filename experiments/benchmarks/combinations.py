"""Training besides the `laptop` preset: DD-PPO on images and on Montezuma's Revenge, and the paper's network.

    python experiments/speed.py combinations --against 54a96d8

Measured as by `training.py`.
"""

from __future__ import annotations

from bonuslab.experiments.benchmarks.measurement import Measurement
from bonuslab.experiments.benchmarks.training import Case, compare

_LAVA = "MultiRoom-N6-Lava"
_ATARI_ENVS = 16
CASES = {
    "DD-PPO, Apartments-64, e3b": Case(
        {"task": "Apartments-64", "bonus": "e3b", "algorithm": "ddppo"}, {"preset": "laptop-pixels"}
    ),
    "DD-PPO, MontezumaRevenge, rnd": Case(
        {
            "task": "MontezumaRevenge",
            "bonus": "rnd(networks=atari)",
            "algorithm": "ddppo",
            "preset": "montezuma",
            "hyperparameters": {"num_envs_per_env_runner": _ATARI_ENVS},
        },
        {"overrides": [["lanes_per_batch", _ATARI_ENVS], ["warm_up_steps", 128]]},
        updates=1,
        warm_up=1,
    ),
    "paper preset, MultiRoom-N6-Lava, none": Case({"task": _LAVA, "preset": "paper"}, updates=1, warm_up=1),
    "paper preset, MultiRoom-N6-Lava, e3b * rnd": Case(
        {"task": _LAVA, "bonus": "e3b * rnd", "preset": "paper"}, updates=1, warm_up=1
    ),
}
QUICK_CASES = 1


def run(case: str, quick: bool, against: str | None = None) -> list[Measurement]:
    """CPU µs per step and peak memory of one case."""
    return compare(case, CASES[case], quick, against)

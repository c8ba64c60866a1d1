"""The small grids that `chaos.py` breaks: trials in one process, with runner and bonus actor, and with two learners.

python experiments/chaos_grids.py [--scale serial | impala | ddppo] …
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from bonuslab.platform.grid.command import ExperimentCommand
from bonuslab.platform.grid.experiment import Experiment, Scale
from bonuslab.platform.grid.resources import TrialResources


def _scale(description: str, algorithm: str, bonuses: Sequence[str], steps: int, cpus: int) -> Scale:
    settings = {
        "preset": "laptop",
        "algorithm": algorithm,
        "total_env_steps": steps,
        "checkpoint_every_steps": steps // 10,
        "evaluate_every_steps": 0,
        "num_envs_per_env_runner": 4,
        "rollout_fragment_length": 16,
        "num_minibatches": 2,
        "num_epochs": 1,
    }
    return Scale(
        description, ["MultiRoom-N2-S4"], bonuses, seeds=[0], settings=settings, resources=TrialResources(cpus)
    )


SCALES = {
    "serial": _scale("three trials of one process", "impala", ("none", "rnd", "e3b * rnd"), 38_400, cpus=1),
    "impala": _scale("two trials of IMPALA with runner and bonus actor", "impala", ("rnd", "e3b * rnd"), 38_400, 2),
    "ddppo": _scale("two trials of DD-PPO with two learners", "ddppo", ("rnd", "e3b * rnd"), 51_200, cpus=2),
}


class ChaosGrids(ExperimentCommand):
    """See `help`."""

    help = "train the small grids that chaos.py breaks"
    example = "chaos_grids.py --scale impala"
    experiment = Experiment(
        name="chaos_grids",
        description="The small grids that chaos.py breaks.",
        scales=SCALES,
        default_scale="serial",
        metric="episode_return",
    )


if __name__ == "__main__":
    sys.exit(ChaosGrids().main())

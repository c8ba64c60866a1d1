"""Montezuma's Revenge, a singleton MDP (one context): the paper's section 3.5.

    python experiments/montezuma.py [--scale smoke | laptop | paper] [--plan] …

The metric is the number of rooms that an episode visits; the return is reported beside it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from bonuslab.platform.grid.command import ExperimentCommand
from bonuslab.platform.grid.experiment import Experiment, Scale
from bonuslab.platform.grid.resources import ONE_PROCESS, TrialResources

BONUSES = ("rnd_montezuma", "e3b_montezuma", "e3b_x_rnd_montezuma")
"""The paper's three."""


def scale_of(
    description: str,
    bonuses: Sequence[str] = BONUSES,
    seeds: Sequence[int] = (0,),
    resources: TrialResources = ONE_PROCESS,
    **changes: Any,
) -> Scale:
    """The game with changed settings."""
    settings = {"algorithm": "ddppo", "preset": "montezuma", **changes}
    return Scale(description, ["MontezumaRevenge"], bonuses, seeds, ["1"], settings=settings, resources=resources)


EXPERIMENT = Experiment(
    name="montezuma",
    description="Montezuma's Revenge (the paper's section 3.5).",
    scales={
        "smoke": scale_of(
            "one short trial to check that everything works",
            bonuses=["e3b_x_rnd_montezuma"],
            total_env_steps=1_024,
            evaluate_every_steps=0,
            num_envs_per_env_runner=4,
            warm_up_steps=32,
        ),
        "laptop": scale_of(
            "a small policy network, 16 envs, 500,000 steps per trial; an estimated two hours on two cores",
            bonuses=("none", *BONUSES),
            seeds=(0, 1),
            total_env_steps=500_000,
            evaluation_duration=16,
            num_envs_per_env_runner=16,
            network="pixels-small",
            lr=5e-4,
            num_epochs=2,
            num_minibatches=2,
            bonus_updates=4,
            warm_up_steps=256,
        ),
        "paper": scale_of(
            "128 envs × 128 steps per rollout, 200 million steps per trial; sticky actions as released",
            seeds=range(5),
            resources=TrialResources(cpus=16, gpus=1),
            env={"sticky": "step"},
            evaluate_every_steps=5_000_000,
        ),
    },
    default_scale="laptop",
    metric="episode_rooms",
)


class MontezumaCommand(ExperimentCommand):
    """See `help`."""

    help = "rooms of Montezuma's Revenge by bonus"
    experiment = EXPERIMENT


if __name__ == "__main__":
    sys.exit(MontezumaCommand().main())

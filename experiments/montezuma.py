"""Montezuma's Revenge, a single context: the paper's section 3.5 on a singleton MDP.

    python experiments/montezuma.py [--scale smoke | laptop | paper] [--plan] …

What counts is how many rooms of the pyramid an episode visits; the return is reported beside it.
"""

from __future__ import annotations

import sys

from bonuslab.platform.grid.command import ExperimentCommand
from bonuslab.platform.grid.experiment import Experiment, Scale
from bonuslab.platform.grid.resources import TrialResources

BONUSES = ("rnd_montezuma", "e3b_montezuma", "e3b_x_rnd_montezuma")
"""The paper's three."""

SCALES = {
    "smoke": Scale(
        "one short trial, to see that everything works",
        tasks=["MontezumaRevenge"],
        bonuses=["e3b_x_rnd_montezuma"],
        seeds=[0],
        contexts=["1"],
        settings={
            "algorithm": "ddppo",
            "preset": "montezuma",
            "total_env_steps": 1_024,
            "evaluate_every_steps": 0,
            "num_envs_per_env_runner": 4,
            "warm_up_steps": 32,
        },
    ),
    "laptop": Scale(
        "16 games and a million steps a trial; hours on two cores, and too few to leave the first rooms",
        tasks=["MontezumaRevenge"],
        bonuses=BONUSES,
        seeds=[0],
        contexts=["1"],
        settings={
            "algorithm": "ddppo",
            "preset": "montezuma",
            "total_env_steps": 1_000_000,
            "num_envs_per_env_runner": 16,
            "warm_up_steps": 640,
        },
    ),
    "paper": Scale(
        "128 games × 128 steps, 200 million steps a trial",
        tasks=["MontezumaRevenge"],
        bonuses=BONUSES,
        seeds=range(5),
        contexts=["1"],
        settings={"algorithm": "ddppo", "preset": "montezuma", "evaluate_every_steps": 5_000_000},
        resources=TrialResources(cpus=16, gpus=1),
    ),
}

EXPERIMENT = Experiment(
    name="montezuma",
    description="Montezuma's Revenge (the paper's section 3.5).",
    scales=SCALES,
    default_scale="laptop",
    metric="episode_rooms",
)


class MontezumaCommand(ExperimentCommand):
    """See `help`."""

    help = "rooms of Montezuma's Revenge by bonus"
    experiment = EXPERIMENT


if __name__ == "__main__":
    sys.exit(MontezumaCommand().main())

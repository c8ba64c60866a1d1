"""Reward-free exploration of houses: the paper's section 3.5 on Habitat.

    python experiments/habitat_exploration.py [--scale smoke | laptop | paper] [--plan] …

The metric is coverage: the fraction of a house's floor that the agent has seen in an episode of 500 steps. A final
evaluation plays 100 episodes in houses of the validation split (`evaluation/…/coverage`). `none` is a random policy:
without reward only the entropy term trains it. `smoke` and `laptop` run on the embedded apartments, `paper` on HM3D
with habitat-sim (docs/habitat.md) and 32 GPUs, where the action stop ends an episode as in the released program; its
`--plan` works on any machine.

Results to expect of `laptop` (seed 0, 160,000 steps per trial, 25 minutes on two cores): coverage of 100 validation
episodes with sampled actions: none 0.196, rnd 0.197, icm 0.195, e3b 0.340, NovelD 0.369, e3b * rnd 0.327. As in the
paper, the global bonuses do no better than chance, the episodic one explores, and the product lies between, here close
to the episodic one. The greedy policies mostly turn on the spot (coverage at most 0.20).
experiments/results/README.md has curves, tables and the commit.
"""

from __future__ import annotations

import sys
from argparse import Namespace

from bonuslab.envs.catalogue import collecting_missing
from bonuslab.platform.grid.command import ExperimentCommand
from bonuslab.platform.grid.experiment import Experiment, Scale
from bonuslab.platform.grid.resources import TrialResources

BONUSES = ("e3b", "rnd", "icm", "noveld(episodic=true, feature=glimpse)", "e3b * rnd")
"""The paper's five; NovelD counts glimpses, since states of a house never repeat."""

SMALL = {"algorithm": "ddppo", "preset": "laptop-pixels"}
SCALES = {
    "smoke": Scale(
        "two short trials on tiny images to check that everything works",
        tasks=["Apartments-64"],
        bonuses=["none", "e3b"],
        seeds=[0],
        settings=SMALL | {"total_env_steps": 4_096, "evaluation_duration": 4},
    ),
    "laptop": Scale(
        "the embedded apartments with small images and a small network; about half an hour on two cores",
        tasks=["Apartments-64"],
        bonuses=["none", *BONUSES],
        seeds=[0],
        settings=SMALL | {"total_env_steps": 160_000},
    ),
    "paper": Scale(
        "HM3D, 225 million steps per trial on 32 GPUs",
        tasks=["HM3D"],
        bonuses=BONUSES,
        seeds=range(5),
        settings={
            "algorithm": "ddppo",
            "preset": "habitat",
            "evaluate_every_steps": 5_000_000,
            "env": {"stop_ends_episode": True},
        },
        resources=TrialResources(cpus=320, gpus=32),
    ),
}

EXPERIMENT = Experiment(
    name="habitat_exploration",
    description="Reward-free exploration of houses (the paper's section 3.5).",
    scales=SCALES,
    default_scale="laptop",
    metric="episode_coverage",
)


class HabitatCommand(ExperimentCommand):
    """See `help`."""

    help = "explore houses without reward: coverage by bonus"
    experiment = EXPERIMENT

    def run(self, arguments: Namespace) -> int:
        """A plan needs neither habitat-sim nor the scenes, but says what is missing here."""
        if "plan" not in vars(arguments):
            return super().run(arguments)
        with collecting_missing() as missing:
            try:
                return super().run(arguments)
            finally:
                for problem in missing:
                    print(f"missing on this machine: {problem}", flush=True)


if __name__ == "__main__":
    sys.exit(HabitatCommand().main())

"""When do global and when do episodic counts work? The paper's tables of section 3 and its appendix.

    python experiments/count_study.py [--scale smoke | minute | laptop | sweep | paper] [--plan] …

Counts of positions or messages, over all episodes (global), within one (episodic), their product (combined), and
`adaptive`, which leans to the one that goes with high returns. `minute` is the core: eight small rooms, one map or ever
new ones. `laptop` has every row of the tables on smaller versions of the same tasks, `paper` the paper's own, and
`sweep` asks whether the global bonus fails for its scale alone. The same command again goes on where it was
interrupted. Beside the grid's report it writes `study/`: the finding as a picture, tables beside the paper's, and every
trial's curve as CSV. What came out of it: experiments/results/README.md.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

from bonuslab.experiments.count_tables.rows import ADAPTIVE, KINDS, PAPER_ROWS, Row, bonus_text
from bonuslab.platform.grid.command import ExperimentCommand
from bonuslab.platform.grid.experiment import Experiment, Point, Scale
from bonuslab.platform.grid.resources import TrialResources

ALL_CONTEXTS = ("1", "3", "5", "10", "inf")
SMALL_ROOMS = "MultiRoom-N8-S5"
"""Eight, because some single maps of six rooms were solved without any bonus."""
FEW_ROOMS = "MultiRoom-N4-S5"
"""Four, because counts of messages did not solve eight within the steps of this scale."""
PRODUCT = (("combined", 0.05),)
"""The others have the preset's 0.015. A product is small where either factor is. Pilots at |C| = ∞, one run each,
share of the last episodes won: seed 101, 150,000 steps: 0.015 28 %, 0.03 39 %, 0.06 64 %, 0.15 none; seed 102, 200,000
steps: 0.05 91 %; 0.08 was stopped after 98,000 steps with 1 and 6 % on both seeds; 1 without normalisation was tried
once. With 0.05 (seed 102, 150,000 steps) the global bonus failed at |C| = 1 and the episodic one won 22 % at ∞. The
paper took for each bonus the best of three."""
CORRIDOR = (("global", 0.005), ("combined", 0.015))
"""Pilots on seeds 101 and 102, share of the last episodes won: global 0.015 100 and 0 % (its agent had found the
stairs, but paid steps were worth more), 0.005 both 100 %; product 0.05 100 and 62 %, 0.015 both 100 %; episodic 0.015
both 100 %; none 0 % on these and on 103 and 104 (the latter two stopped after 100,000 steps). With 200 steps an episode
global 0.015 won on one of two. Five rooms were not solved on both by the global bonus, with 0.015 and 0.005 and 1,000
steps an episode, nor with 0.015 and 300."""
MINUTE_ROWS = (
    # A single map needs no more steps, and the time is short.
    Row(SMALL_ROOMS, ("1", "inf"), "position", "MultiRoom-N6-Lava", coefficients=PRODUCT, steps=(("1", 90_000),)),
)
LAPTOP_ROWS = (
    Row(SMALL_ROOMS, ALL_CONTEXTS, "position", "MultiRoom-N6-Lava", (*KINDS, ADAPTIVE), PRODUCT),
    Row("Corridor-R3", ("1",), "position", "Corridor-R5", coefficients=CORRIDOR, env=(("max_steps", 400),)),
    Row("KeyRoom-S5", ("inf",), "message", "KeyRoom-S10", coefficients=PRODUCT),
    Row(FEW_ROOMS, ("inf",), "message", "MultiRoom-N6-Lava", coefficients=PRODUCT),
)
ROWS: dict[str, Sequence[Row]] = {
    "smoke": (Row("MultiRoom-N2-S4", ("1",), "position", "MultiRoom-N6-Lava", ("none", "combined")),),
    "minute": MINUTE_ROWS,
    "laptop": LAPTOP_ROWS,
    "sweep": (Row(SMALL_ROOMS, ("1", "10"), "position", "MultiRoom-N6-Lava", ("global",)),),
    "paper": PAPER_ROWS,
}
"""What each scale trains."""
SMALL = {"preset": "laptop", "evaluate_every_steps": 0}
"""Without evaluation: the tables are about returns in training, on the contexts that are trained on."""
SWEEP: dict[str, dict[str, Any]] = {
    f"{kind} {coefficient:g}": {"normalise": kind, "coefficient": coefficient}
    for kind, middle in (("std", 0.015), ("reference", 0.15), ("none", 0.1))
    for coefficient in (middle / 10, middle, 10 * middle)
}
"""Scales of the global bonus: normalisation, then coefficient."""
WALLS_FREE = ("std 0.015", "none 0.1")
"""Those that are also tried without MiniHack's penalty for steps that take no time: a faded bonus falls below it."""


def scale_of(
    name: str,
    description: str,
    seeds: Sequence[int],
    settings: Mapping[str, Any],
    env: Mapping[str, Mapping[str, Any]] | None = None,
    **further: Any,
) -> Scale:
    """The rows of a scale as trials: each row with the bonuses that count its feature.

    `env` are settings of the environment by variant.
    """
    rows = ROWS[name]
    variants = list(further.get("variants", ()))

    @cache
    def own_settings() -> dict[tuple[str, str, str], dict[str, Any]]:
        from bonuslab.algorithms.bonuses import parse  # loads PyTorch, which a declaration does not need

        return {
            (row.task, contexts, str(parse(bonus_text(kind, row.feature)))): row.settings(contexts, kind)
            for row in rows
            for contexts, kind in product(row.contexts, row.kinds)
        }

    def belongs(point: Point) -> Mapping[str, Any] | None:
        if point.bonus == "none" and point.variant in variants[1:]:
            return None  # variants differ in the bonus
        found = own_settings().get((point.task, point.contexts, point.bonus))
        return found and {**found, "env": {**found["env"], **(env or {}).get(point.variant, {})}}

    return Scale(
        description,
        tasks=list(dict.fromkeys(row.task for row in rows)),
        bonuses=list(dict.fromkeys(bonus_text(kind, row.feature) for row in rows for kind in row.kinds)),
        contexts=list(dict.fromkeys(contexts for row in rows for contexts in row.contexts)),
        seeds=seeds,
        settings=settings,
        adjust=belongs,
        **further,
    )


EXPERIMENT = Experiment(
    name="count_study",
    description="Global, episodic and combined counts by number of contexts (the paper's section 3).",
    scales={
        "smoke": scale_of(
            "smoke",
            "two short trials, to see that everything works",
            seeds=[0],
            settings={"preset": "laptop", "total_env_steps": 10_240},
        ),
        "minute": scale_of(
            "minute",
            "the core of the finding: eight small rooms, one map or ever new ones; under ten minutes on two cores",
            seeds=[0, 1],
            settings=SMALL | {"total_env_steps": 160_000},
        ),
        "laptop": scale_of(
            "laptop",
            "every row of the paper's tables on smaller tasks, five seeds; about two hours on two cores",
            seeds=range(5),
            settings=SMALL | {"total_env_steps": 180_000},
        ),
        "sweep": scale_of(
            "sweep",
            "can any scale of the global bonus save it from many contexts? half an hour on two cores",
            seeds=[5, 6],
            settings=SMALL | {"total_env_steps": 160_000},
            variants=SWEEP | {f"{name}, walls free": SWEEP[name] for name in WALLS_FREE},
            env={f"{name}, walls free": {"penalty_step": 0.0} for name in WALLS_FREE},
        ),
        "paper": scale_of(
            "paper",
            "the paper's own tasks, five seeds, 50 million steps and three coefficients; a cluster",
            seeds=range(5),
            settings={"preset": "paper", "evaluate_every_steps": 5_000_000},
            variants={f"coefficient {value:g}": {"coefficient": value} for value in (0.1, 1.0, 10.0)},
            resources=TrialResources(cpus=6, gpus=0.5),
        ),
    },
    default_scale="laptop",
    metric="episode_return",
)


class CountStudyCommand(ExperimentCommand):
    """See `help`."""

    help = "counts by number of contexts, the paper's section 3: when global and when episodic bonuses work"
    experiment = EXPERIMENT

    def run(self, arguments: Namespace) -> int:
        """Run the grid, then draw and tabulate what it has."""
        status = super().run(arguments)
        given = vars(arguments)
        if "plan" not in given:
            from bonuslab.experiments.count_tables.write import write_study
            from bonuslab.platform.run.folder import GridFolder

            scale = given.get("scale", self.experiment.default_scale)
            folder = GridFolder.open(self._folder(given, scale))
            picture = write_study(folder, ROWS[scale])
            print(f"the finding: {picture}" if picture else "no trial has results for the study's tables yet")
        return status


if __name__ == "__main__":
    sys.exit(CountStudyCommand().main())

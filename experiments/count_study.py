"""When do global and when do episodic counts work? The paper's tables of section 3 and its appendix.

    python experiments/count_study.py [--scale smoke | minute | laptop | shared | sweep | paper] [--search] [--plan] …

Counts positions or messages over all episodes (global), within one episode (episodic), and takes their product
(combined) or `adaptive`, which favours the one that correlates with returns. `minute` is the core: eight small rooms,
with a single map or a new map every episode. `laptop` has every row of the tables on smaller versions of the tasks;
`shared` only those in which contexts share structure, and the appendix's; `paper` the paper's own; and `sweep` tests
whether the global bonus fails only because of its scale. Run the same command again to resume. Besides the grid's
report it writes `study/`: the main figure, tables beside the paper's, and every trial's learning curve as CSV. Results:
experiments/results/README.md.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from bonuslab.experiments.count_tables.rows import ALL_KINDS, PAPER_ROWS, Row, bonus_text
from bonuslab.platform.grid.command import ExperimentCommand
from bonuslab.platform.grid.experiment import Experiment, Point, Scale
from bonuslab.platform.grid.resources import TrialResources
from bonuslab.platform.grid.search_space import Search

ALL_CONTEXTS = ("1", "3", "5", "10", "inf")
SMALL_ROOMS = "MultiRoom-N8-S5"
"""Eight, because some maps of six rooms were solved without a bonus."""
SIX_ROOMS = "MultiRoom-N6-S5"
"""Six, because message counts did not solve eight within this scale's steps."""
PRODUCT = (("combined", 0.05),)
"""Coefficient of the product, which is small where either factor is; the others have the preset's 0.015. Pilots at
|C| = ∞, one run each, final win rate: seed 101, 150,000 steps: 0.015 28 %, 0.03 39 %, 0.06 64 %, 0.15 0 %; seed 102,
200,000 steps: 0.05 91 %; 0.08 was stopped after 98,000 steps at 1 and 6 % on the two seeds; 1 without normalisation was
tried once. With 0.05 (seed 102, 150,000 steps) the global bonus failed at |C| = 1 and the episodic one won 22 % at ∞.
The paper took the best of three coefficients for each bonus."""
CORRIDOR = (("global", 0.005), ("combined", 0.015))
"""Coefficients. Pilots on seeds 101 and 102, final win rate: global 0.015 100 and 0 % (the agent had found the stairs,
but collecting bonuses paid more), 0.005 both 100 %; product 0.05 100 and 62 %, 0.015 both 100 %; episodic 0.015 both
100 %; none 0 % on these and on 103 and 104 (the latter two stopped after 100,000 steps). With 200 steps per episode
global 0.015 won on one of the two seeds. With five rooms the global bonus did not win on both seeds: neither 0.015 nor
0.005 with 1,000 steps per episode, nor 0.015 with 300."""
MINUTE_ROWS = (
    # A single map needs fewer steps.
    Row(SMALL_ROOMS, ("1", "inf"), "position", "MultiRoom-N6-Lava", coefficients=PRODUCT, steps=(("1", 90_000),)),
)
SHARED_ROWS = (
    Row(SIX_ROOMS, ("inf",), "message", "MultiRoom-N6-Lava", ALL_KINDS, PRODUCT, (("inf", 450_000),)),
    Row("KeyRoom-S5", ("inf",), "message", "KeyRoom-S10", ALL_KINDS, PRODUCT, (("inf", 300_000),)),
    # Some maps of this task end at a hidden square: only those that the scripted explorer wins are drawn.
    Row(
        "Corridor-R3",
        ("1",),
        "position",
        "Corridor-R5",
        ALL_KINDS,
        CORRIDOR,
        (("1", 300_000),),
        (("max_steps", 250), ("winnable_within", 200)),
    ),
    Row("MultiRoom-N2-S4-Locked", ("1", "inf"), "position", "MultiRoom-N4-Locked", ALL_KINDS, PRODUCT),
    Row("MultiRoom-N4-S4-Lava-Monsters1", ("1", "inf"), "position", "MultiRoom-N6-LavaMonsters", ALL_KINDS, PRODUCT),
)
"""Where the paper's argument favours a global bonus, and the appendix's tasks in small."""
LAPTOP_ROWS = (
    Row(SMALL_ROOMS, ALL_CONTEXTS, "position", "MultiRoom-N6-Lava", ALL_KINDS, PRODUCT),
    *SHARED_ROWS,
)
ROWS: dict[str, Sequence[Row]] = {
    "smoke": (Row("MultiRoom-N2-S4", ("1",), "position", "MultiRoom-N6-Lava", ("none", "combined")),),
    "minute": MINUTE_ROWS,
    "laptop": LAPTOP_ROWS,
    "shared": SHARED_ROWS,
    "sweep": (Row(SMALL_ROOMS, ("1", "10"), "position", "MultiRoom-N6-Lava", ("global",)),),
    "paper": PAPER_ROWS,
}
"""Rows of the tables by scale."""
WINNERS = Path(__file__).parent / "results" / "count_study-search" / "winners.json"
"""Written by `--search` and copied here; its settings override the rows' coefficients in the small scales."""
SEARCH = Search(seeds=(101, 102), samples=8)
"""On seeds of the earlier pilots, which no scale has."""
SMALL = {"preset": "laptop", "evaluate_every_steps": 0}
"""No evaluation: the tables report training returns, on the training contexts."""
STAGGERED = {"stagger": True}
"""Environment setting: episodes that all end on the same step would make curves staircases."""
SWEEP: dict[str, dict[str, Any]] = {
    f"{kind} {coefficient:g}": {"normalise": kind, "coefficient": coefficient}
    for kind, middle in (("std", 0.015), ("reference", 0.15), ("none", 0.1))
    for coefficient in (middle / 10, middle, 10 * middle)
}
"""Scales of the global bonus: normalisation and coefficient."""
WALLS_FREE = ("std 0.015", "none 0.1")
"""Also run without MiniHack's penalty for steps that take no game time, which can exceed a faded bonus."""


def scale_of(
    name: str,
    description: str,
    seeds: Sequence[int],
    settings: Mapping[str, Any],
    env: Mapping[str, Mapping[str, Any]] | None = None,
    **further: Any,
) -> Scale:
    """The trials of a scale's rows: each row with the bonuses that count its feature.

    `env` has environment settings by variant.
    """
    rows = ROWS[name]
    variants = list(further.get("variants", ()))

    @cache
    def own_settings() -> dict[tuple[str, str, str], dict[str, Any]]:
        from bonuslab.algorithms.bonuses import parse  # imports PyTorch, which `--help` does not need

        return {
            (row.task, contexts, str(parse(bonus_text(kind, row.feature)))): row.settings(contexts, kind)
            for row in rows
            for contexts, kind in product(row.contexts, row.kinds)
        }

    def belongs(point: Point) -> Mapping[str, Any] | None:
        if point.bonus == "none" and point.variant in variants[1:]:
            return None  # variants differ only in the bonus
        found = own_settings().get((point.task, point.contexts, point.bonus))
        started = {} if settings["preset"] == "paper" else STAGGERED
        return found and {**found, "env": {**started, **found["env"], **(env or {}).get(point.variant, {})}}

    return Scale(
        description,
        tasks=list(dict.fromkeys(row.task for row in rows)),
        bonuses=list(dict.fromkeys(bonus_text(kind, row.feature) for row in rows for kind in row.kinds)),
        contexts=list(dict.fromkeys(contexts for row in rows for contexts in row.contexts)),
        seeds=seeds,
        settings=settings,
        adjust=belongs,
        winners=WINNERS if settings["preset"] == "laptop" and not variants and WINNERS.is_file() else None,
        **further,
    )


EXPERIMENT = Experiment(
    name="count_study",
    description="Global, episodic and combined counts by number of contexts (the paper's section 3).",
    scales={
        "smoke": scale_of(
            "smoke",
            "two short trials to check that everything works",
            seeds=[0],
            settings={"preset": "laptop", "total_env_steps": 10_240},
        ),
        "minute": scale_of(
            "minute",
            "the main finding: eight small rooms, one map or a new one every episode; under ten minutes on two cores",
            seeds=[0, 1],
            settings=SMALL | {"total_env_steps": 160_000},
        ),
        "laptop": scale_of(
            "laptop",
            "every row of the paper's tables on smaller tasks, five seeds; about five hours on two cores",
            seeds=range(5),
            settings=SMALL | {"total_env_steps": 180_000},
        ),
        "shared": scale_of(
            "shared",
            "the rows in which contexts share structure, five seeds; about two hours on two cores",
            seeds=range(5),
            settings=SMALL | {"total_env_steps": 200_000},
        ),
        "sweep": scale_of(
            "sweep",
            "does the global bonus work with many contexts at any scale? half an hour on two cores",
            seeds=[5, 6],
            settings=SMALL | {"total_env_steps": 160_000},
            variants=SWEEP | {f"{name}, walls free": SWEEP[name] for name in WALLS_FREE},
            env={f"{name}, walls free": {"penalty_step": 0.0} for name in WALLS_FREE},
        ),
        "paper": scale_of(
            "paper",
            "the paper's tasks, five seeds, 50 million steps, three coefficients; needs a cluster",
            seeds=range(5),
            settings={"preset": "paper", "evaluate_every_steps": 5_000_000},
            variants={f"coefficient {value:g}": {"coefficient": value} for value in (0.1, 1.0, 10.0)},
            resources=TrialResources(cpus=6, gpus=0.5),
        ),
    },
    default_scale="laptop",
    metric="episode_return",
    search=SEARCH,
)


class CountStudyCommand(ExperimentCommand):
    """See `help`."""

    help = "count bonuses by number of contexts (the paper's section 3)"
    experiment = EXPERIMENT

    def run(self, arguments: Namespace) -> int:
        """Run the grid, then write the study's figure and tables."""
        status = super().run(arguments)
        given = vars(arguments)
        if "plan" not in given and "search" not in given:
            from bonuslab.experiments.count_tables.write import write_study
            from bonuslab.platform.run.folder import GridFolder

            scale = given.get("scale", self.experiment.default_scale)
            folder = GridFolder.open(self._folder(given, scale))
            picture = write_study(folder, ROWS[scale])
            print(f"figure: {picture}" if picture else "no trial has results yet")
        return status


if __name__ == "__main__":
    sys.exit(CountStudyCommand().main())

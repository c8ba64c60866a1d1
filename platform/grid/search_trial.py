"""The Ray Tune trainable of a sample: trains its search seeds in turn, row by row, and reports their mean."""

from __future__ import annotations

import json
import time
from typing import Any

import ray

from bonuslab.platform.grid.trainable import GridTrial, start_training
from bonuslab.platform.report.search_records import CPU_SECONDS, measure
from bonuslab.platform.run.rows import STEPS, Row
from bonuslab.platform.run.training import Training, TrialReport

REPORTS = "reports"
"""Key of the seeds' `TrialReport`s in a Tune result, as JSON by trial."""
ENDED = "ended"
"""Key of whether the trial has ended by itself; Tune sets `done` also when its scheduler stops the trial."""


class SeedTraining:
    """One seed of a sample; adds the CPU time to its rows."""

    def __init__(self, training: Training) -> None:
        self._training = training
        self.rows: list[Row] = []
        self.done = False
        self._cpu_seconds = 0.0

    @property
    def env_steps(self) -> float:
        """Environment steps so far; 0 before the first report, even of a resumed seed."""
        return self.rows[-1][STEPS] if self.rows else 0

    def next_report(self) -> TrialReport:
        """Train until the next row."""
        began = time.process_time()
        report = self._training.next_report()
        if report.restored_rows is not None:
            self.rows = list(report.restored_rows)
            self._cpu_seconds = max((row.get(CPU_SECONDS, 0.0) for row in self.rows), default=0.0)
        self._cpu_seconds += time.process_time() - began
        if report.row is not None:
            report.row[CPU_SECONDS] = self._cpu_seconds
            self.rows.append(report.row)
        self.done = report.done
        return report

    def close(self) -> None:
        """Stop the algorithm."""
        self._training.close()


class SearchTrial(GridTrial):
    """A sample, configured by `SampleSearcher`. All seeds share one process and core, as trials of a grid do.

    In one Tune trial because the scheduler and the searcher have to judge settings, not seeds.
    """

    def setup(self, config: dict[str, Any]) -> None:
        """See `GridTrial`."""
        self._spec = config
        self._seeds: dict[str, SeedTraining] = {}

    def step(self) -> dict[str, Any]:
        """Train every seed until it has a new row."""
        relay = ray.get_actor(self._spec["relay"])
        if not self._seeds:
            if ray.get(relay.stopping.remote()):
                return {REPORTS: "{}", ENDED: True, "done": True, **self._measured([[]])}
            for trial, config in self._spec["seeds"].items():
                self._seeds[trial] = SeedTraining(
                    start_training({**self._spec, "trial": trial, "config": config}, relay)
                )
        active = {trial: seed for trial, seed in self._seeds.items() if not seed.done}
        # Seeds keep level, also after a stop in between: they are compared at the same number of steps.
        last = min(seed.env_steps for seed in active.values())
        reports = {trial: seed.next_report() for trial, seed in active.items() if seed.env_steps == last}
        done = all(seed.done for seed in self._seeds.values())
        texts = json.dumps({trial: report.as_text() for trial, report in reports.items()})
        return {REPORTS: texts, ENDED: done, "done": done, **self._measured([one.rows for one in self._seeds.values()])}

    def cleanup(self) -> None:
        """Stop the algorithms of all seeds."""
        for seed in self._seeds.values():
            seed.close()
        self._seeds = {}

    def _measured(self, rows: list[list[Row]]) -> dict[str, float]:
        return measure(rows, *(self._spec[name] for name in ("total_env_steps", "metric", "least_episodes")))

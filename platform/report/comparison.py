"""What is compared: the headline column, at how many steps, and which trials are included.

Finished trials are compared at their full length. A task without finished trials of at least two methods is compared at
the largest number of steps that every started method has reached.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from bonuslab.algorithms.rllib.metrics import find
from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.platform.report.trial_results import RETURN, WIN_RATE, GridResults, Series, Trial, training_column
from bonuslab.platform.run.results import LAST_SHARE
from bonuslab.platform.run.rows import STEPS

TOLERANCE = 0.02
"""Trials end at whole batches, so equal lengths differ slightly."""


@dataclass(frozen=True)
class Score:
    """The final value of one trial, or the reason why it has none."""

    trial: Trial
    value: float | None
    why_not: str = ""


@dataclass(frozen=True)
class Cell:
    """Mean ± standard deviation over the runs of one method on one task."""

    mean: float
    std: float | None
    """Sample standard deviation (n − 1); None with one run."""
    runs: int
    planned: int
    """Trials in the grid."""
    best: bool = False
    """The best mean of its row."""


@dataclass(frozen=True)
class Comparison:
    """Final values of a column for all trials, and the tasks and methods that aggregates are over."""

    metric: str
    scores: list[Score]
    steps: dict[str, int]
    """Environment steps at which each task is compared; only tasks with a value."""
    partial: list[str]
    """Tasks compared before their trials have finished."""
    common_units: list[str]
    """Tasks where every method of `common_methods` has a value; aggregates are over these."""
    common_methods: list[str]

    @property
    def lower_is_better(self) -> bool:
        """Whether the best trial is the one with the lowest value."""
        return find(self.metric).higher_is_better is False

    def runs(self, method: str, unit: str) -> np.ndarray:
        """[n]: the values of one method on one task, one per seed."""
        return np.array([score.value for score in self._of(method, unit) if score.value is not None])

    def cell(self, method: str, unit: str) -> Cell | None:
        """The mean of one method on one task; None without any value."""
        runs, planned = self.runs(method, unit), len(self._of(method, unit))
        std = float(runs.std(ddof=1)) if len(runs) > 1 else None
        return Cell(float(runs.mean()), std, len(runs), planned) if len(runs) else None

    def _of(self, method: str, unit: str) -> list[Score]:
        return [score for score in self.scores if (score.trial.method, score.trial.unit) == (method, unit)]


def choose_metric(asked: str | None, configured: str | None, columns: Iterable[str]) -> str:
    """The first column that exists of: the one asked for, the experiment's, the win rate and the return."""
    there = [name for name in columns if name != STEPS]
    if asked is not None and asked not in there:
        if not there:
            raise InvalidInput(f"no trial has a row yet, so column {asked!r} cannot be compared")
        raise unknown("column", asked, there)
    candidates = [name for name in (asked, configured) if name]
    if configured and not asked:  # an evaluation that no trial has reached yet
        candidates.append(training_column(configured))
    candidates += [WIN_RATE, RETURN]
    return next((name for name in candidates if name in there), candidates[0])


def compare(results: GridResults, metric: str) -> Comparison:
    """Final values of the column `metric`."""
    scores: list[Score] = []
    steps: dict[str, int] = {}
    partial: list[str] = []
    for unit in results.units:
        trials = results.of(unit)
        at, full = _common_steps(trials, metric)
        found = [_score(trial, metric, at, full) for trial in trials]
        scores += found
        if any(score.value is not None for score in found):
            steps[unit] = round(at)
            if not full:
                partial.append(unit)
    units, methods = _common(results, scores)
    return Comparison(metric, scores, steps, partial, units, methods)


def final_value(series: Series, at: float, evaluation: bool) -> float:
    """The value at `at` steps: the last of an evaluation, otherwise the mean over the last tenth of the steps."""
    before = series.steps <= at
    if not before.any():
        return float(series.values[0])
    last = before & (series.steps > (1 - LAST_SHARE) * at)
    if evaluation or not last.any():
        return float(series.values[before][-1])
    return float(series.values[last].mean())


def _common_steps(trials: list[Trial], metric: str) -> tuple[float, bool]:
    """The steps at which the trials of one task are compared, and whether these are of finished trials."""
    there = [trial for trial in trials if len(trial.column(metric)) and trial.state.status != "failed"]

    def furthest(some: Iterable[Trial]) -> dict[str, float]:
        # By method: of equal keys, a dictionary keeps the last, here the largest.
        return dict(sorted((trial.method, float(trial.column(metric).steps[-1])) for trial in some))

    reached, finished = furthest(there), furthest(trial for trial in there if trial.state.status == "finished")
    if len(finished) >= 2 or (finished and len(finished) == len(reached)):
        return min(finished.values()), True
    return (min(reached.values()), False) if reached else (0.0, False)


def _score(trial: Trial, metric: str, at: float, full: bool) -> Score:
    series, status = trial.column(metric), trial.state.status
    if not len(series):
        reasons = {
            "waiting": "not started",
            "failed": "failed before its first value",
            "finished": "too few episodes ended",
        }
        return Score(trial, None, reasons.get(status, "no value yet"))
    end = float(series.steps[-1])
    if at == 0 or (full and status != "finished"):
        return Score(trial, None, f"{status} at {end:,.0f} steps")
    if end < (1 - TOLERANCE) * at:
        return Score(trial, None, f"{status} at {end:,.0f} of {at:,.0f} compared steps")
    return Score(trial, final_value(series, min(end, (1 + TOLERANCE) * at), metric.startswith("evaluation/")))


def _common(results: GridResults, scores: list[Score]) -> tuple[list[str], list[str]]:
    """As many methods as share at least half of the tasks that any method has values on."""
    valued = [score.trial for score in scores if score.value is not None]
    there = {method: {trial.unit for trial in valued if trial.method == method} for method in results.scopes}
    by_number = sorted((method for method in there if there[method]), key=lambda method: -len(there[method]))
    units: set[str] = set()
    methods: list[str] = []
    for number in range(1, len(by_number) + 1):
        common = set.intersection(*(there[name] for name in by_number[:number]))
        if 2 * len(common) >= len(there[by_number[0]]):
            units, methods = common, by_number[:number]
    return [unit for unit in results.units if unit in units], [name for name in results.scopes if name in methods]

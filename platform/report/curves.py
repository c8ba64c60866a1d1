"""Columns over environment steps, averaged over seeds on one grid of steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from bonuslab.platform.report import trial_results
from bonuslab.platform.report.trial_results import GridResults, Series, Trial, training_column

POINTS = 80
FEWEST_POINTS = 3
"""A column with fewer values per trial is not drawn as a curve."""
EVOLUTION = {
    "inverse-dynamics loss": trial_results.INVERSE_LOSS,
    "episodic bonus": trial_results.EPISODIC_BONUS,
    "global bonus": trial_results.GLOBAL_BONUS,
    "extrinsic return": trial_results.RETURN,
}
"""The rows of the paper's figure of bonuses over time, and the columns they show."""
_PARTS = {"episodic bonus": ("episodic", "combined"), "global bonus": ("global", "combined")}
"""A bonus without an episodic or a global part has a meaningless column of zeros for it."""


@dataclass(frozen=True)
class Curve:
    """Mean and standard deviation over seeds at the same steps; NaN where no seed has a value."""

    steps: np.ndarray  # [K]
    mean: np.ndarray  # [K]
    std: np.ndarray  # [K]; 0 with one seed
    seeds: np.ndarray  # [K]: number of seeds

    @property
    def whole_until(self) -> int:
        """Index after the last point that all seeds have reached."""
        there = np.flatnonzero((self.seeds == self.seeds.max()) & (self.seeds > 0))
        return int(there[-1]) + 1 if len(there) else 0


def average(series: Iterable[Series], most_steps: float) -> Curve | None:
    """The mean over seeds on `POINTS` equal spans of steps; None if no seed has two values."""
    columns = [_on_spans(one, most_steps) for one in series if len(one) > 1]
    if not columns or most_steps <= 0:
        return None
    values = pd.DataFrame(columns)  # [seeds, K]
    steps = (np.arange(POINTS) + 0.5) * most_steps / POINTS
    return Curve(steps, *(of.to_numpy() for of in (values.mean(), values.std().fillna(0.0), values.count())))


def curve_column(results: GridResults, metric: str) -> str:
    """The column whose curves are drawn: `metric`, or the corresponding training column if evaluations are few."""
    points = [len(trial.column(metric)) for trial in results.trials if len(trial.column(metric))]
    other = training_column(metric)
    enough = bool(points) and float(np.median(points)) >= FEWEST_POINTS
    return metric if enough or not any(len(trial.column(other)) for trial in results.trials) else other


def curves(results: GridResults, column: str) -> dict[str, dict[str, Curve]]:
    """By task and method, the curves of one column."""
    found = {unit: _of_unit(results, unit, lambda trial: trial.column(column)) for unit in results.units}
    return {unit: drawn for unit, drawn in found.items() if drawn}


def evolution(results: GridResults) -> dict[str, dict[str, dict[str, Curve]]]:
    """By task, row of the paper's figure and method; only tasks with some row other than the return."""
    found = {}
    for unit in results.units:
        rows = {row: _of_unit(results, unit, partial(_row, row)) for row in EVOLUTION}
        rows = {row: drawn for row, drawn in rows.items() if drawn}
        if set(rows) - {"extrinsic return"}:
            found[unit] = rows
    return found


def _row(row: str, trial: Trial) -> Series:
    if trial.scope not in _PARTS.get(row, (trial.scope,)):
        return trial_results.EMPTY
    name = EVOLUTION[row]
    if name == trial_results.INVERSE_LOSS:
        name = next((column for column in trial.series if column.rsplit("/", 1)[-1] == name), name)
    return trial.column(name)


def _of_unit(results: GridResults, unit: str, series: Callable[[Trial], Series]) -> dict[str, Curve]:
    most = max((series(trial).steps[-1] for trial in results.of(unit) if len(series(trial))), default=0.0)
    drawn = {method: average(map(series, results.of(unit, method)), float(most)) for method in results.scopes}
    return {method: curve for method, curve in drawn.items() if curve is not None}


def _on_spans(series: Series, most_steps: float) -> np.ndarray:
    """[K]: the mean of the values in each span; spans between two values are interpolated, those beyond are NaN."""
    span = np.clip((series.steps / most_steps * POINTS).astype(int), 0, POINTS - 1)
    number = np.bincount(span, minlength=POINTS)
    mean = np.bincount(span, series.values, minlength=POINTS) / np.maximum(number, 1)
    there = np.flatnonzero(number)
    places = np.arange(POINTS)
    filled = np.interp(places, there, mean[there])
    return np.where((places >= there[0]) & (places <= there[-1]), filled, np.nan)

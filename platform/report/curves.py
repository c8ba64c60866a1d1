"""Columns over environment steps: mean over seeds and its bootstrap interval, on one grid of steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from bonuslab.platform.pictures.palette import ADAPTIVE
from bonuslab.platform.report import trial_results
from bonuslab.platform.report.statistics import interval_of_mean
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
_PARTS = {"episodic bonus": ("episodic", "combined", ADAPTIVE), "global bonus": ("global", "combined", ADAPTIVE)}
"""A bonus without an episodic or a global part has a meaningless column of zeros for it."""


@dataclass(frozen=True)
class Curve:
    """Mean over seeds at the same steps and its 95 % bootstrap interval; NaN where no seed has a value."""

    steps: np.ndarray  # [K]
    mean: np.ndarray  # [K]
    low: np.ndarray  # [K]; the mean with one seed
    high: np.ndarray  # [K]
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
    values = np.stack(columns)  # [seeds, K]
    steps = (np.arange(POINTS) + 0.5) * most_steps / POINTS
    seeds = np.isfinite(values).sum(axis=0)
    mean = np.where(seeds, np.nansum(values, axis=0) / np.maximum(seeds, 1), np.nan)
    return Curve(steps, mean, *interval_of_mean(values), seeds)


def over_tasks(units: Iterable[Mapping[str, Curve]]) -> dict[str, Curve]:
    """The mean over tasks of each method's curve, without intervals, up to the end of the shortest task."""
    found: dict[str, list[Curve]] = {}
    for curves_of in units:
        for method, curve in curves_of.items():
            found.setdefault(method, []).append(curve)
    most = max((len(of) for of in found.values()), default=0)
    whole = {method: of for method, of in found.items() if len(of) == most}
    end = min((curve.steps[-1] for of in whole.values() for curve in of), default=0.0)
    steps = np.linspace(0, end, POINTS + 1)[1:]
    means = {
        # Not beyond a curve's own values: NaN on either side.
        method: np.mean([_at(curve, steps) for curve in of], axis=0)
        for method, of in whole.items()
    }
    return {
        method: Curve(steps, mean, mean, mean, np.isfinite(mean).astype(int))
        for method, mean in means.items()
        if np.isfinite(mean).any()
    }


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


def _at(curve: Curve, steps: np.ndarray) -> np.ndarray:
    there = np.isfinite(curve.mean)
    return np.interp(steps, curve.steps[there], curve.mean[there], left=np.nan, right=float(curve.mean[there][-1]))


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

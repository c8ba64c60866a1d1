"""Everything the report shows, computed from the trials of a grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np

from bonuslab.algorithms.rllib.metrics import SHARE, find
from bonuslab.platform.pictures.palette import SCOPE_COLOURS, bonus_styles
from bonuslab.platform.report.comparison import Cell, compare
from bonuslab.platform.report.curves import curve_column, curves, evolution, over_tasks
from bonuslab.platform.report.paper_numbers import PaperResult, paper_result
from bonuslab.platform.report.statistics import (
    FEWEST_RUNS_TO_COMPARE,
    Estimate,
    aggregates,
    has_enough_runs,
    probability_of_improvement,
    profile,
)
from bonuslab.platform.report.trial_results import (
    RETURN,
    WIN_RATE,
    GridResults,
    contexts_order,
    held_out_columns,
    training_column,
)
from bonuslab.platform.report.verdicts import verdicts

THRESHOLDS = 101
MOST_IN_HEADLINE = 3
"""Tasks with a panel of their own in the first figure; more are averaged."""


@dataclass(frozen=True)
class BesidePaper:
    """A cell of the paper's tables and ours for the same task, contexts and count feature."""

    unit: str
    method: str
    paper: PaperResult
    ours: Cell | None
    steps: int | None


@dataclass(frozen=True)
class ContextStudy:
    """One task over its numbers of contexts: mean and std per method, None where there is no value yet."""

    task: str
    contexts: list[str]
    ours: dict[str, list[Cell | None]]
    paper: dict[str, list[PaperResult | None]]


class Analysis:
    """The data of a report: the trials compared by the column `metric`. Methods are ordered by scope."""

    def __init__(self, results: GridResults, metric: str) -> None:
        self.results = results
        self.comparison = compare(results, metric)
        self.styles = bonus_styles(results.scopes)
        self.scope_styles = bonus_styles({scope: scope for scope in SCOPE_COLOURS})
        self.methods = list(self.styles)  # with and without values
        self.compared = [name for name in self.methods if name in self.comparison.common_methods]  # in the aggregates
        units = self.comparison.common_units
        scores = {name: {unit: self.comparison.runs(name, unit) for unit in units} for name in self.compared}
        self.by_bonus = {
            name: aggregates(name, {unit: [runs] for unit, runs in of.items()}) for name, of in scores.items()
        }
        self.members = {scope: [name for name in scores if results.scopes[name] == scope] for scope in SCOPE_COLOURS}
        self.by_scope = {
            scope: aggregates(scope, {unit: [scores[name][unit] for name in names] for unit in units})
            for scope, names in self.members.items()
            if names
        }
        self.thresholds = _thresholds([runs for of in scores.values() for runs in of.values()])  # [K]
        self.profiles = {name: profile(name, of, self.thresholds) for name, of in scores.items()}  # [3, K] each
        sign = -1 if self.comparison.lower_is_better else 1
        signed = {name: {unit: sign * runs for unit, runs in of.items()} for name, of in scores.items()}
        self.improvement = {
            (one, other): probability_of_improvement((one, other), signed[one], signed[other])
            for one, other in permutations(scores, 2)
        }
        self.enough_runs = bool(scores) and all(
            has_enough_runs({unit: [runs] for unit, runs in of.items()}) for of in scores.values()
        )
        totals = [sum(map(len, of.values())) for of in scores.values()]
        self.enough_to_compare = self.enough_runs and min(totals) >= FEWEST_RUNS_TO_COMPARE
        self.tasks = {unit: self._task_row(unit) for unit in results.units}
        self.estimates = {
            unit: {name: self._estimate(name, unit) for name in self.methods if len(self.comparison.runs(name, unit))}
            for unit in results.units
        }
        self.verdicts = verdicts(
            {unit: self.estimates[unit] for unit in units},
            {name: results.scopes[name] for name in self.compared},
            self.comparison.lower_is_better,
        )
        self.beside = self._beside(metric)
        self.curve_column = curve_column(results, metric)
        self.curves = curves(results, self.curve_column)
        many = len(self.curves) > MOST_IN_HEADLINE
        mean = f"mean over {len(self.curves)} tasks"
        self.headline = {mean: over_tasks(self.curves.values())} if many else self.curves
        self.evolution = evolution(results)
        papers = {
            (trial.unit, trial.method): paper_result(trial.task, trial.contexts, trial.bonus, trial.scope)
            for trial in results.trials
        }
        self.contexts = self._context_studies(papers)
        returns = compare(results, RETURN)
        self.beside_paper = [
            BesidePaper(unit, method, paper, returns.cell(method, unit), returns.steps.get(unit))
            for unit in results.units
            for method in self.methods
            if (paper := papers.get((unit, method)))
        ]

    @property
    def scopes_differ(self) -> bool:
        """Whether some scope has several bonuses, so that scopes differ from bonuses."""
        return len(self.by_scope) < len(self.by_bonus)

    @property
    def several_tasks(self) -> bool:
        """Whether aggregates over tasks say more than the one task."""
        return len(self.comparison.common_units) > 1

    def _estimate(self, method: str, unit: str) -> Estimate:
        return aggregates(f"{method} {unit}", {unit: [self.comparison.runs(method, unit)]})["mean"]

    def _beside(self, metric: str) -> dict[str, dict[str, float]]:
        """Further columns of the first table: by title and method, the mean over the common tasks and their runs."""
        own = training_column(metric)
        columns = {"return in training": RETURN, "win rate in training": WIN_RATE}
        columns |= {} if own in columns.values() else {f"{find(own).axis} in training": own}
        columns |= {f"held-out {find(column).axis}": column for column in held_out_columns(metric).values()}
        found: dict[str, dict[str, float]] = {}
        for title, column in columns.items():
            if column == metric:
                continue
            other = compare(self.results, column)
            runs = {
                name: [other.runs(name, unit) for unit in self.comparison.common_units if len(other.runs(name, unit))]
                for name in self.methods
            }
            means = {name: float(np.mean([of.mean() for of in tasks])) for name, tasks in runs.items() if tasks}
            if means and not (column == WIN_RATE and not any(means.values())):  # nobody can win, or nobody did
                found[title] = means
        return found

    def has_unit_range(self, column: str) -> bool:
        """Whether a column's values are shares, so that its axis is from 0 to 1."""
        values = [trial.column(column).values for trial in self.results.trials if len(trial.column(column))]
        return find(column).unit == SHARE and all(of.min() >= -1e-9 and of.max() <= 1 + 1e-9 for of in values)

    def _task_row(self, unit: str) -> dict[str, Cell | None]:
        """By method; the best mean is marked where means differ."""
        row = {method: self.comparison.cell(method, unit) for method in self.methods}
        means = {cell.mean for cell in row.values() if cell}
        best = (min if self.comparison.lower_is_better else max)(means) if len(means) > 1 else None
        return {method: cell and replace(cell, best=cell.mean == best) for method, cell in row.items()}

    def _context_studies(self, papers: Mapping[tuple[str, str], PaperResult | None]) -> list[ContextStudy]:
        studies = []
        for task in dict.fromkeys(trial.task for trial in self.results.trials):
            units = {trial.contexts: trial.unit for trial in self.results.trials if trial.task == task}
            contexts = sorted(units, key=contexts_order)
            if len(contexts) > 1:
                places = [units[one] for one in contexts]
                ours = {method: [self.comparison.cell(method, unit) for unit in places] for method in self.methods}
                paper = {method: [papers.get((unit, method)) for unit in places] for method in self.methods}
                with_paper = {method: cells for method, cells in paper.items() if any(cells)}
                studies.append(ContextStudy(task, contexts, ours, with_paper))
        return studies


def _thresholds(runs: list[np.ndarray]) -> np.ndarray:
    values = np.concatenate(runs) if runs else np.array([0.0, 1.0])
    is_unit_range = values.min() >= 0 and values.max() <= 1
    return np.linspace(min(0.0, values.min()), 1 if is_unit_range else values.max(), THRESHOLDS)

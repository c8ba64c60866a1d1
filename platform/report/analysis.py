"""Everything the report shows, computed from the trials of a grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np

from bonuslab.algorithms.rllib.metrics import SHARE, find
from bonuslab.platform.pictures.palette import SCOPE_COLOURS, bonus_styles
from bonuslab.platform.report.comparison import Cell, compare
from bonuslab.platform.report.curves import curve_column, curves, evolution
from bonuslab.platform.report.paper_numbers import PaperResult, paper_result
from bonuslab.platform.report.statistics import aggregates, probability_of_improvement, profile
from bonuslab.platform.report.trial_results import RETURN, GridResults, contexts_order

THRESHOLDS = 101


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
        members = {scope: [name for name in scores if results.scopes[name] == scope] for scope in SCOPE_COLOURS}
        self.by_scope = {
            scope: aggregates(scope, {unit: [scores[name][unit] for name in names] for unit in units})
            for scope, names in members.items()
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
        self.tasks = {unit: self._task_row(unit) for unit in results.units}
        self.curve_column = curve_column(results, metric)
        self.curves = curves(results, self.curve_column)
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

"""Everything the report shows, computed from the trials of a grid."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np

from bonuslab.algorithms.rllib.metrics import SHARE, find
from bonuslab.platform.pictures.palette import SCOPE_COLOURS, SeriesStyle, bonus_styles
from bonuslab.platform.report.comparison import Comparison, compare
from bonuslab.platform.report.curves import Curve, curve_column, curves, evolution
from bonuslab.platform.report.paper_numbers import PaperResult, paper_results
from bonuslab.platform.report.statistics import Estimate, aggregates, probability_of_improvement, profile
from bonuslab.platform.report.tables import Cell, cell_of, task_table
from bonuslab.platform.report.trial_results import RETURN, GridResults, Trial, contexts_order

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


@dataclass(frozen=True)
class Analysis:
    """The data of a report. Methods are ordered by scope."""

    results: GridResults
    comparison: Comparison
    styles: dict[str, SeriesStyle]
    scope_styles: dict[str, SeriesStyle]
    by_bonus: dict[str, dict[str, Estimate]]
    by_scope: dict[str, dict[str, Estimate]]
    thresholds: np.ndarray  # [K]
    profiles: dict[str, np.ndarray]  # [3, K]
    improvement: dict[tuple[str, str], Estimate]
    tasks: dict[str, dict[str, Cell | None]]
    curve_column: str
    curves: dict[str, dict[str, Curve]]
    evolution: dict[str, dict[str, dict[str, Curve]]]
    contexts: list[ContextStudy]
    beside_paper: list[BesidePaper]

    @property
    def methods(self) -> list[str]:
        """All methods of the grid, with and without values."""
        return list(self.styles)

    @property
    def compared(self) -> list[str]:
        """The methods that aggregates compare."""
        return [name for name in self.styles if name in self.comparison.common_methods]

    @property
    def scopes_differ(self) -> bool:
        """Whether some scope has several bonuses, so that scopes differ from bonuses."""
        return len(self.by_scope) < len(self.by_bonus)

    def has_unit_range(self, column: str) -> bool:
        """Whether a column's values are shares, so that its axis is from 0 to 1."""
        return find(column).unit == SHARE and all(
            trial.column(column).values.min() >= -1e-9 and trial.column(column).values.max() <= 1 + 1e-9
            for trial in self.results.trials
            if len(trial.column(column))
        )


def analyse(results: GridResults, metric: str) -> Analysis:
    """Compare the trials by the column `metric`."""
    comparison = compare(results, metric)
    styles = bonus_styles(results.scopes)
    scores = {name: comparison.of_method(name) for name in styles if name in comparison.common_methods}
    by_bonus = {name: aggregates(name, {unit: [runs] for unit, runs in of.items()}) for name, of in scores.items()}
    members = {scope: [name for name in scores if results.scopes[name] == scope] for scope in SCOPE_COLOURS}
    by_scope = {
        scope: aggregates(scope, {unit: [scores[name][unit] for name in names] for unit in comparison.common_units})
        for scope, names in members.items()
        if names
    }
    thresholds = _thresholds(scores)
    sign = -1 if comparison.lower_is_better else 1
    signed = {name: {unit: sign * runs for unit, runs in of.items()} for name, of in scores.items()}
    drawn = curve_column(results, metric)
    returns = comparison if metric == RETURN else compare(results, RETURN)
    return Analysis(
        results=results,
        comparison=comparison,
        styles=styles,
        scope_styles=bonus_styles({scope: scope for scope in SCOPE_COLOURS}),
        by_bonus=by_bonus,
        by_scope=by_scope,
        thresholds=thresholds,
        profiles={name: profile(name, of, thresholds) for name, of in scores.items()},
        improvement={
            (one, other): probability_of_improvement((one, other), signed[one], signed[other])
            for one, other in permutations(scores, 2)
        },
        tasks=task_table(results, comparison, styles),
        curve_column=drawn,
        curves=curves(results, drawn),
        evolution=evolution(results),
        contexts=_context_studies(results, comparison, list(styles)),
        beside_paper=_beside_paper(results, returns, list(styles)),
    )


def _thresholds(scores: dict[str, dict[str, np.ndarray]]) -> np.ndarray:
    runs = [runs for of in scores.values() for runs in of.values()]
    values = np.concatenate(runs) if runs else np.array([0.0, 1.0])
    if values.min() >= 0 and values.max() <= 1:
        return np.linspace(0, 1, THRESHOLDS)
    return np.linspace(min(0.0, values.min()), values.max(), THRESHOLDS)


def _context_studies(results: GridResults, comparison: Comparison, methods: list[str]) -> list[ContextStudy]:
    studies = []
    for task in dict.fromkeys(trial.task for trial in results.trials):
        here = [trial for trial in results.trials if trial.task == task]
        numbers = sorted({trial.contexts for trial in here}, key=contexts_order)
        if len(numbers) < 2:
            continue
        ours: dict[str, list[Cell | None]] = {}
        paper: dict[str, list[PaperResult | None]] = {}
        for method in methods:
            found = {number: _of(here, method, number) for number in numbers}
            ours[method] = [
                cell_of(comparison.runs(method, trials[0].unit), len(trials)) if trials else None
                for trials in found.values()
            ]
            cells = [_first_paper(trials[0]) if trials else None for trials in found.values()]
            if any(cells):
                paper[method] = cells
        studies.append(ContextStudy(task, numbers, ours, paper))
    return studies


def _beside_paper(results: GridResults, returns: Comparison, methods: list[str]) -> list[BesidePaper]:
    rows = []
    for unit in results.units:
        here = [trial for trial in results.trials if trial.unit == unit]
        for method in methods:
            trials = [trial for trial in here if trial.method == method]
            paper = _first_paper(trials[0]) if trials else None
            if paper is not None:
                cell = cell_of(returns.runs(method, unit), len(trials))
                rows.append(BesidePaper(unit, method, paper, cell, returns.steps.get(unit)))
    return rows


def _of(trials: list[Trial], method: str, contexts: str) -> list[Trial]:
    return [trial for trial in trials if (trial.method, trial.contexts) == (method, contexts)]


def _first_paper(trial: Trial) -> PaperResult | None:
    return next(iter(paper_results(trial.task, trial.contexts, trial.bonus, trial.scope)), None)

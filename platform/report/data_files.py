"""The data of a report as files: CSV of everything drawn, LaTeX of tables for a paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from bonuslab.algorithms.rllib.metrics import find
from bonuslab.platform.report.analysis import Analysis
from bonuslab.platform.report.comparison import Cell
from bonuslab.platform.report.curves import Curve
from bonuslab.platform.report.paper_numbers import PAPER_SEEDS, PAPER_STEPS
from bonuslab.platform.report.provenance import origin
from bonuslab.platform.report.statistics import AGGREGATES, CONFIDENCE
from bonuslab.platform.report.tables import csv_text, interval, latex_table, mean_and_std, number
from bonuslab.platform.report.trial_results import RETURN, contexts_text

_LABELS = ("task", "contexts", "bonus", "scope", "seed", "variant")
_STATE = ("status", "env_steps", "total_env_steps", "wall_seconds")


def data_files(analysis: Analysis) -> dict[str, str]:
    """The files of tables/ by name."""
    files = _trials(analysis) | _tasks(analysis) | _aggregates(analysis) | _pairs(analysis) | _curves(analysis)
    if analysis.contexts:
        files |= _contexts(analysis)
    if analysis.beside_paper:
        files |= _paper(analysis)
    return files


def _trials(analysis: Analysis) -> dict[str, str]:
    """Every trial with its value, or the reason why it has none, and its origin."""
    rows = [
        (
            score.trial.id,
            *(score.trial.description.labels.get(label, "") for label in _LABELS),
            *(getattr(score.trial.state, name) for name in _STATE),
            score.value,
            score.why_not,
            *origin(analysis.results.description),
        )
        for score in analysis.comparison.scores
    ]
    header = ("id", *_LABELS, *_STATE, analysis.comparison.metric, "left out", "commit", "versions")
    return {"trials.csv": csv_text(header, rows)}


def _tasks(analysis: Analysis) -> dict[str, str]:
    """A CSV row per task and bonus; a LaTeX row per task."""
    metric, steps = analysis.comparison.metric, analysis.comparison.steps
    rows = [
        (unit, method, cell.runs, cell.planned, cell.mean, cell.std, steps[unit])
        for unit, cells in analysis.tasks.items()
        for method, cell in cells.items()
        if cell
    ]
    header = ("task", "bonus", "runs", "planned", f"{metric} mean", "std", "env_steps")
    units, methods = list(analysis.tasks), analysis.methods
    if len(methods) > len(units):  # the longer axis goes down the page
        tex = [(name, *(_in_latex(analysis.tasks[unit][name]) for unit in units)) for name in methods]
        head = ("bonus", *units)
    else:
        tex = [(unit, *map(_in_latex, cells.values())) for unit, cells in analysis.tasks.items()]
        head = ("task", *methods)
    note = f"{find(metric).axis}: mean ± standard deviation over seeds; in brackets the seeds with a value, if not all"
    return {"tasks.csv": csv_text(header, rows), "tasks.tex": latex_table(head, tex, note)}


def _aggregates(analysis: Analysis) -> dict[str, str]:
    rows: list[tuple[object, ...]] = []
    tex = []
    for kind, group in (("bonus", analysis.by_bonus), ("scope", analysis.by_scope)):
        for name, estimates in group.items():
            rows += [(kind, name, aggregate, one.value, one.low, one.high) for aggregate, one in estimates.items()]
            if kind == "bonus" or len(analysis.members[name]) > 1:  # a scope of one bonus would repeat its row
                label = name if kind == "bonus" else f"all {name}"
                tex.append((label, *(f"{number(one.value)} {interval(one)}".strip() for one in estimates.values())))
    tasks = len(analysis.comparison.common_units)
    over = f"{find(analysis.comparison.metric).axis} over {tasks} task{'s' if tasks != 1 else ''}"
    note = f"{over}; {CONFIDENCE:.0%} stratified-bootstrap intervals" if analysis.enough_runs else over
    return {
        "aggregates.csv": csv_text(("of", "name", "aggregate", "value", "low", "high"), rows),
        "aggregates.tex": latex_table(("bonus", *AGGREGATES), tex, note),
    }


def _pairs(analysis: Analysis) -> dict[str, str]:
    """Probabilities of improvement and performance profiles."""
    chances = [(*pair, one.value, one.low, one.high) for pair, one in analysis.improvement.items()]
    profiles = [
        (name, *map(float, point))
        for name, values in analysis.profiles.items()
        for point in zip(analysis.thresholds, *values, strict=True)
    ]
    return {
        "improvement.csv": csv_text(("bonus", "better than", "probability", "low", "high"), chances),
        "profiles.csv": csv_text(("bonus", "threshold", "share of runs above", "low", "high"), profiles),
    }


def _curves(analysis: Analysis) -> dict[str, str]:
    header = ("task", "column", "bonus", "env_steps", "mean", "low", "high", "seeds")
    learning = [row for unit, of in analysis.curves.items() for row in _points(unit, analysis.curve_column, of)]
    evolution = [
        row for unit, rows in analysis.evolution.items() for name, of in rows.items() for row in _points(unit, name, of)
    ]
    return {"curves.csv": csv_text(header, learning), "evolution.csv": csv_text(header, evolution)}


def _contexts(analysis: Analysis) -> dict[str, str]:
    """Like the paper's count tables: a row per task and number of contexts."""
    rows, tex = [], []
    for study in analysis.contexts:
        for place, contexts in enumerate(study.contexts):
            cells = {name: of[place] for name, of in study.ours.items()}
            tex.append((study.task, contexts_text(contexts), *map(_in_latex, cells.values())))
            for name, cell in cells.items():
                paper = study.paper[name][place] if name in study.paper else None
                ours = (cell.mean, cell.std, cell.runs) if cell else (None, None, 0)
                theirs = (paper.mean, paper.std) if paper else (None, None)
                rows.append((study.task, contexts, name, *ours, *theirs))
    metric = analysis.comparison.metric
    header = ("task", "contexts", "bonus", f"{metric} mean", "std", "runs", "paper's return mean", "paper's std")
    note = f"{find(metric).axis}: mean ± standard deviation over seeds, by number of contexts"
    return {
        "contexts.csv": csv_text(header, rows),
        "contexts.tex": latex_table(("environment", "|C|", *analysis.methods), tex, note),
    }


def _paper(analysis: Analysis) -> dict[str, str]:
    rows, tex = [], []
    for row in analysis.beside_paper:
        paper, ours, setting = row.paper, row.ours, (row.unit, row.method, row.paper.feature)
        cells = (ours.mean, ours.std, ours.runs, row.steps) if ours else (None, None, 0, None)
        rows.append((*setting, paper.mean, paper.std, PAPER_SEEDS, PAPER_STEPS, *cells, paper.place))
        tex.append((*setting, mean_and_std(paper), mean_and_std(ours) if ours else "--"))
    numbers = ("mean", "std", "runs", "env_steps")
    our_names = (f"our {RETURN} mean", *(f"our {name}" for name in numbers[1:]))
    header = ("task", "bonus", "ψ", *(f"paper {name}" for name in numbers), *our_names, "place in the paper")
    note = f"episode return, the paper's after {PAPER_STEPS:,} steps beside ours; mean ± standard deviation over seeds"
    return {
        "paper.csv": csv_text(header, rows),
        "paper.tex": latex_table(("task", "bonus", "ψ", "paper", "ours"), tex, note),
    }


def _points(unit: str, column: str, of: Mapping[str, Curve]) -> Iterator[tuple[object, ...]]:
    for method, curve in of.items():
        for place in np.flatnonzero(curve.seeds):
            numbers = (curve.steps[place], curve.mean[place], curve.low[place], curve.high[place])
            yield unit, column, method, *map(float, numbers), int(curve.seeds[place])


def _in_latex(cell: Cell | None) -> str:
    if cell is None:
        return "--"
    text = mean_and_std(cell) + (f" ({cell.runs}/{cell.planned})" if cell.runs < cell.planned else "")
    return f"**{text}**" if cell.best else text

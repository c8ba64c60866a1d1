"""The figures of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from bonuslab.algorithms.rllib.metrics import find
from bonuslab.platform.report.analysis import Analysis
from bonuslab.platform.report.curves import EVOLUTION, Curve
from bonuslab.platform.report.drawing import (
    TICK_POINTS,
    Means,
    draw_contexts,
    draw_curves,
    draw_improvement,
    draw_intervals,
    draw_profiles,
    short_number,
)
from bonuslab.platform.report.figures import Figure, Panel
from bonuslab.platform.report.names import lines, text_inches, wrapped
from bonuslab.platform.report.paper_numbers import PaperResult
from bonuslab.platform.report.statistics import AGGREGATES, Estimate
from bonuslab.platform.report.tables import Cell, interval, number
from bonuslab.platform.report.trial_results import RETURN, contexts_text

EVOLUTION_TASKS = 4
"""As many tasks as in the paper's figure, the first of the grid."""
COLUMN_INCHES = 3.25
"""The width of one column of the paper's page."""


def aggregates(analysis: Analysis, scopes: bool) -> Figure | None:
    """Median, IQM and mean with intervals, one panel each, by bonus or by scope."""
    named = analysis.by_scope if scopes else analysis.by_bonus
    if not named:
        return None
    styles = analysis.scope_styles if scopes else analysis.styles
    metric = analysis.comparison.metric
    draw = partial(draw_intervals, styles=styles, unit_range=analysis.has_unit_range(metric), xlabel=find(metric).axis)
    panels = []
    for kind in AGGREGATES:
        estimates = {name: of[kind] for name, of in named.items()}
        panels.append(Panel(kind, partial(draw, estimates=estimates), _listed(estimates)))
    height = 0.6 + len(named) * (0.08 + 0.12 * max(lines(name) for name in named))
    left = 0.12 + max(text_inches(wrapped(name), TICK_POINTS) for name in named)
    return Figure(
        "scopes" if scopes else "aggregates",
        panels,
        3,
        panel_height_inches=height,
        shared_rows=True,
        page_inches=(max(3.0, left + 1.6), height),
        page_margins_inches=(left, 0.3, 0.4, 0.05),
    )


def profiles(analysis: Analysis) -> Figure | None:
    """Performance profiles."""
    if not analysis.profiles:
        return None
    draw = partial(
        draw_profiles,
        thresholds=analysis.thresholds,
        profiles=analysis.profiles,
        styles=analysis.styles,
        metric=find(analysis.comparison.metric).axis,
    )
    half = len(analysis.thresholds) // 2
    above = {name: values[0][half] for name, values in analysis.profiles.items()}
    shares = ", ".join(f"{name} {share:.0%}" for name, share in above.items())
    panel = Panel("", draw, f"Share of runs above {number(analysis.thresholds[half])}: {shares}.")
    return Figure(
        "profiles",
        [panel],
        1,
        analysis.compared,
        panel_height_inches=2.2,
        width_inches=COLUMN_INCHES,
        page_inches=(3.6, 2.4),
    )


def improvement(analysis: Analysis) -> Figure | None:
    """Probability of improvement of every bonus over every other."""
    names = analysis.compared
    if len(names) < 2:
        return None
    draw = partial(draw_improvement, names=names, chances=analysis.improvement)
    panel = Panel("", draw, "Probability of improvement.")
    longest = max(text_inches(wrapped(name), TICK_POINTS) for name in names)
    width = max(COLUMN_INCHES, 0.4 + longest + 0.42 * len(names))
    height = 0.5 + 0.6 * longest + 0.3 * len(names)
    return Figure("improvement", [panel], 1, panel_height_inches=height, width_inches=width)


def learning_curves(analysis: Analysis) -> Figure | None:
    """A panel per task."""
    if not analysis.curves:
        return None
    column = analysis.curve_column
    unit_range = analysis.has_unit_range(column)
    draw = partial(draw_curves, styles=analysis.styles, ylabel=find(column).axis, unit_range=unit_range)
    panels = [Panel(unit, partial(draw, curves=of), _ends(of)) for unit, of in analysis.curves.items()]
    drawn = [name for name in analysis.methods if _drawn(name, analysis.curves)]
    return _fitting("curves", panels, min(4, len(panels)), drawn)


def bonus_evolution(analysis: Analysis) -> Figure | None:
    """The paper's figure: a column per task; rows inverse-dynamics loss, episodic and global bonus, return."""
    tasks = list(analysis.evolution)[:EVOLUTION_TASKS]
    rows = [row for row in EVOLUTION if any(row in analysis.evolution[task] for task in tasks)]
    if not tasks:
        return None
    panels = []
    for row in rows:
        for task in tasks:
            of = analysis.evolution[task].get(row, {})
            title = task if row == rows[0] else ""
            draw = partial(
                draw_curves, curves=of, styles=analysis.styles, ylabel=row, may_be_logarithmic=EVOLUTION[row] != RETURN
            )
            panels.append(Panel(title, draw, f"{task}, {row}: {_ends(of)}", group=task, row=row))
    drawn = [name for name in analysis.methods if any(_drawn(name, analysis.evolution[task]) for task in tasks)]
    figure = _fitting("evolution", panels, len(tasks), drawn)
    return replace(figure, page_inches=(2.4, 1.7), page_margins_inches=(0.38, 0.06, 0.4, 0.06))


def contexts(analysis: Analysis) -> Figure | None:
    """A panel per task over its numbers of contexts, beside one of the paper's table."""
    panels = []
    for study in analysis.contexts:
        metric = find(analysis.comparison.metric).axis
        names = [contexts_text(one) for one in study.contexts]
        sides = {f"{study.task}, ours": (_mean_and_std(study.ours), metric)}
        if study.paper:
            sides[f"{study.task}, paper"] = (_mean_and_std(study.paper), find(RETURN).axis)
        limits = _limits([means for means, _ in sides.values()])
        for title, (means, label) in sides.items():
            draw = partial(
                draw_contexts, contexts=names, means=means, styles=analysis.styles, ylabel=label, limits=limits
            )
            panels.append(Panel(title, draw, _context_summary(names, means)))
    if not panels:
        return None
    return _fitting("contexts", panels, min(2, len(panels)), analysis.methods, shared_labels=False)


def _mean_and_std(of: Mapping[str, Sequence[Cell | PaperResult | None]]) -> Means:
    return {name: [(cell.mean, cell.std or 0.0) if cell else None for cell in cells] for name, cells in of.items()}


def _limits(sides: Sequence[Means]) -> tuple[float, float]:
    """One range for all values ± standard deviation, so that adjacent panels can be compared."""
    cells = [cell for means in sides for of in means.values() for cell in of if cell]
    low = min((mean - std for mean, std in cells), default=0.0)
    high = max((mean + std for mean, std in cells), default=1.0)
    margin = 0.04 * (high - low) or 0.5
    return low - margin, high + margin


def _fitting(name: str, panels: list[Panel], columns: int, legend: list[str], shared_labels: bool = True) -> Figure:
    """As wide as the page, or narrower with fewer panels."""
    width = {1: COLUMN_INCHES, 2: 5.0}.get(columns, 6.75)
    height = 1.9 if columns < 3 else 1.6
    return Figure(name, panels, columns, legend, height, width, shared_labels)


def _drawn(name: str, of: Mapping[str, Mapping[str, Curve]]) -> bool:
    return any(name in inner for inner in of.values())


def _listed(estimates: Mapping[str, Estimate]) -> str:
    return "; ".join(f"{name} {number(one.value)} {interval(one)}".strip() for name, one in estimates.items()) + "."


def _ends(of: Mapping[str, Curve]) -> str:
    """The last mean of every curve."""
    if not of:
        return "no values."
    steps = max(curve.steps[-1] for curve in of.values())
    last = (f"{name} {number(float(curve.mean[np.isfinite(curve.mean)][-1]))}" for name, curve in of.items())
    return f"Up to {short_number(round(steps))} steps; last means: {', '.join(last)}."


def _context_summary(names: list[str], means: Means) -> str:
    texts = []
    for method, cells in means.items():
        values = ", ".join(f"{name}: {number(cell[0])}" for name, cell in zip(names, cells, strict=True) if cell)
        texts.append(f"{method} ({values or 'none yet'})")
    return "By number of contexts: " + "; ".join(texts) + "."

"""The figures of a report: what each shows, and how its panels are drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from bonuslab.algorithms.rllib.metrics import find
from bonuslab.platform.pictures.palette import SCOPE_COLOURS, SeriesStyle, mixed
from bonuslab.platform.report.analysis import Analysis
from bonuslab.platform.report.comparison import Cell
from bonuslab.platform.report.curves import EVOLUTION, Curve
from bonuslab.platform.report.drawing import (
    COLUMN_INCHES,
    PAGE_WIDTH_INCHES,
    TICK_POINTS,
    Figure,
    Panel,
    line,
    most_lines,
    short_number,
    text_inches,
    wrapped,
)
from bonuslab.platform.report.paper_numbers import PaperResult
from bonuslab.platform.report.statistics import AGGREGATES, Estimate
from bonuslab.platform.report.tables import interval, number
from bonuslab.platform.report.trial_results import RETURN, contexts_text

EVOLUTION_TASKS = 4
"""As many tasks as in the paper's figure, the first of the grid."""
BAND_OPACITY, MANY_METHODS = (0.16, 0.09), 4
"""Bands of more methods than this are fainter, or they would hide each other."""
LOG_RANGE = 30.0
"""Positive curves with at least this ratio of highest to lowest value have a logarithmic axis."""
Styles = Mapping[str, SeriesStyle]
Cells = Mapping[str, Sequence[Cell | PaperResult | None]]
"""By method, the results for each number of contexts; None where there is no value."""


def figures(analysis: Analysis) -> list[Figure]:
    """All figures of a grid that have something to show."""
    several = analysis.several_tasks
    made = (
        headline(analysis),
        aggregates(analysis, scopes=False) if several else None,
        aggregates(analysis, scopes=True) if several and analysis.scopes_differ else None,
        profiles(analysis) if several or analysis.enough_runs else None,
        improvement(analysis) if analysis.enough_to_compare else None,
        contexts(analysis),
        learning_curves(analysis),
        bonus_evolution(analysis),
    )
    return [figure for figure in made if figure is not None]


def headline(analysis: Analysis) -> Figure | None:
    """The first figure of the page, as wide as it: curves of the few tasks there are, or their mean."""
    if not analysis.headline or analysis.contexts:  # a study of contexts begins with its own figure
        return None
    column = analysis.curve_column
    unit_range = analysis.has_unit_range(column)
    draw = partial(_draw_curves, styles=analysis.styles, ylabel=find(column).axis, unit_range=unit_range)
    panels = [Panel(unit, partial(draw, curves=of), _ends(of)) for unit, of in analysis.headline.items()]
    figure = _fitting("headline", analysis, panels, len(panels), _drawn(analysis, analysis.headline.values()))
    return replace(figure, page_inches=(9.2 / len(panels), 2.5), page_margins_inches=(0.48, 0.08, 0.42, 0.08))


def aggregates(analysis: Analysis, scopes: bool) -> Figure | None:
    """Median, IQM and mean with intervals, one panel each, by bonus or by scope."""
    named = analysis.by_scope if scopes else analysis.by_bonus
    if not named:
        return None
    styles = analysis.scope_styles if scopes else analysis.styles
    metric = analysis.comparison.metric
    draw = partial(_draw_intervals, styles=styles, unit_range=analysis.has_unit_range(metric), xlabel=find(metric).axis)
    panels = []
    for kind in AGGREGATES:
        estimates = {name: of[kind] for name, of in named.items()}
        listed = (f"{name} {number(one.value)} {interval(one)}".strip() for name, one in estimates.items())
        panels.append(Panel(kind, partial(draw, estimates=estimates), "; ".join(listed) + "."))
    height = 0.6 + len(named) * (0.08 + 0.12 * most_lines(named))
    left = 0.12 + text_inches(map(wrapped, named), TICK_POINTS)
    return Figure(
        "scopes" if scopes else "aggregates",
        panels,
        3,
        styles,
        panel_height_inches=height,
        shared_rows=True,
        page_inches=(max(3.0, left + 1.6), height),
        page_margins_inches=(left, 0.3, 0.4, 0.05),
    )


def _draw_intervals(
    axes: Axes, estimates: Mapping[str, Estimate], styles: Styles, unit_range: bool, xlabel: str
) -> None:
    """One row per method, the first on top: a point and its interval, with the number beside it."""
    for row, (name, estimate) in enumerate(estimates.items()):
        colour = styles[name].colour
        if estimate.low is not None and estimate.high is not None:
            axes.barh(row, estimate.high - estimate.low, 0.62, estimate.low, color=colour, alpha=0.35, lw=0)
        axes.plot([estimate.value] * 2, [row - 0.31, row + 0.31], color=colour, lw=2, solid_capstyle="butt")
        text = f"{estimate.value:.3g}" if abs(estimate.value) >= 10 else f"{estimate.value:.2f}"
        axes.annotate(text, (1.01, row), xycoords=("axes fraction", "data"), va="center", fontsize=TICK_POINTS)
    axes.set_yticks(range(len(estimates)), [wrapped(name) for name in estimates])
    axes.set_ylim(len(estimates) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_locator(ticker.MaxNLocator(4))
    axes.set_xlabel(xlabel)
    low, high = axes.get_xlim()
    axes.set_xlim((0, 1) if unit_range else (min(0, low), max(0, high)))


def profiles(analysis: Analysis) -> Figure | None:
    """Performance profiles: the share of runs above each threshold."""
    thresholds, styles = analysis.thresholds, analysis.styles
    if not analysis.profiles:
        return None

    def draw(axes: Axes) -> None:
        for name, (value, low, high) in analysis.profiles.items():
            if analysis.enough_runs:
                opacity = _opacity(analysis.profiles)
                axes.fill_between(thresholds, low, high, color=styles[name].colour, alpha=opacity, lw=0)
            axes.plot(thresholds, value, **line(styles[name]))
        axes.set_ylim(-0.02, 1.02)
        axes.set_xlim(thresholds[0], thresholds[-1])
        axes.set_xlabel(f"{find(analysis.comparison.metric).axis} (τ)")
        axes.set_ylabel("share of runs above τ")

    half = len(thresholds) // 2
    shares = ", ".join(f"{name} {values[0][half]:.0%}" for name, values in analysis.profiles.items())
    panel = Panel("", draw, f"Share of runs above {number(thresholds[half])}: {shares}.")
    return Figure("profiles", [panel], 1, styles, analysis.compared, 2.2, COLUMN_INCHES, page_inches=(3.6, 2.4))


def improvement(analysis: Analysis) -> Figure | None:
    """Probability of improvement of every bonus over every other; bold where the interval excludes one half."""
    names = analysis.compared
    if len(names) < 2:
        return None

    def draw(axes: Axes) -> None:
        chances = analysis.improvement
        ends = [mixed(SCOPE_COLOURS[scope], 0.35) for scope in ("episodic", "global")]
        colours = LinearSegmentedColormap.from_list("improvement", [ends[0], "#ffffff", ends[1]])
        square = [[chances[one, other].value if one != other else np.nan for other in names] for one in names]
        axes.imshow(square, cmap=colours, vmin=0, vmax=1, aspect="auto")
        for (one, other), chance in chances.items():
            weight = "bold" if chance.is_away_from(0.5) else "normal"
            place = (names.index(other), names.index(one))
            axes.text(*place, f"{chance.value:.2f}", ha="center", va="center", fontsize=TICK_POINTS, weight=weight)
        labels = [wrapped(name) for name in names]
        axes.set_xticks(range(len(names)), labels, rotation=35, ha="right", rotation_mode="anchor")
        axes.set_yticks(range(len(names)), labels)
        axes.tick_params(length=0)
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
        axes.set_xlabel("… than a run with this bonus")
        axes.set_ylabel("a run with this bonus is better …")

    longest = text_inches(map(wrapped, names), TICK_POINTS)
    width = max(COLUMN_INCHES, 0.4 + longest + 0.42 * len(names))
    height = 0.5 + 0.6 * longest + 0.3 * len(names)
    panel = Panel("", draw, "Probability of improvement.")
    return Figure("improvement", [panel], 1, analysis.styles, panel_height_inches=height, width_inches=width)


def learning_curves(analysis: Analysis) -> Figure | None:
    """A panel per task."""
    if not analysis.curves:
        return None
    column = analysis.curve_column
    unit_range = analysis.has_unit_range(column)
    draw = partial(_draw_curves, styles=analysis.styles, ylabel=find(column).axis, unit_range=unit_range)
    panels = [Panel(unit, partial(draw, curves=of), _ends(of)) for unit, of in analysis.curves.items()]
    return _fitting("curves", analysis, panels, min(4, len(panels)), _drawn(analysis, analysis.curves.values()))


def bonus_evolution(analysis: Analysis) -> Figure | None:
    """The paper's figure: a column per task; rows inverse-dynamics loss, episodic and global bonus, return."""
    tasks = dict(list(analysis.evolution.items())[:EVOLUTION_TASKS])
    if not tasks:
        return None
    rows = [row for row in EVOLUTION if any(row in of for of in tasks.values())]
    panels = []
    for row in rows:
        draw = partial(_draw_curves, styles=analysis.styles, ylabel=row, may_be_logarithmic=EVOLUTION[row] != RETURN)
        for task, of in tasks.items():
            curves = of.get(row, {})
            title = task if row == rows[0] else ""
            panels.append(Panel(title, partial(draw, curves=curves), f"{task}, {row}: {_ends(curves)}", task, row))
    drawn = _drawn(analysis, [curves for of in tasks.values() for curves in of.values()])
    figure = _fitting("evolution", analysis, panels, len(tasks), drawn)
    return replace(figure, page_inches=(2.4, 1.7), page_margins_inches=(0.38, 0.06, 0.4, 0.06))


def _draw_curves(
    axes: Axes,
    curves: Mapping[str, Curve],
    styles: Styles,
    ylabel: str,
    unit_range: bool = False,
    may_be_logarithmic: bool = False,
) -> None:
    """Mean over seeds with its interval; fainter where some seeds have no value yet."""
    logarithmic = may_be_logarithmic and _wants_logarithm(curves)
    for name, curve in curves.items():
        whole, style = curve.whole_until, styles[name]
        axes.plot(curve.steps[:whole], curve.mean[:whole], **line(style))
        rest = slice(max(whole - 1, 0), None)
        axes.plot(curve.steps[rest], curve.mean[rest], **line(style, alpha=0.4))
        if curve.seeds.max() > 1:
            axes.fill_between(curve.steps, curve.low, curve.high, color=style.colour, alpha=_opacity(curves), lw=0)
    if unit_range:
        axes.set_ylim(-0.02, 1.02)
    if logarithmic:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(ticker.LogLocator(numticks=5))
        axes.yaxis.set_major_formatter(ticker.FuncFormatter(short_number))
        axes.minorticks_off()
    if curves:
        axes.set_xlim(0, max(curve.steps[-1] for curve in curves.values()) * 1.01)
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(short_number))
    axes.xaxis.set_major_locator(ticker.MaxNLocator(4))
    axes.set_xlabel("environment steps")
    axes.set_ylabel(ylabel)


def contexts(analysis: Analysis) -> Figure | None:
    """A panel per task over its numbers of contexts, beside one of the paper's table."""
    panels = []
    for study in analysis.contexts:
        names = [contexts_text(one) for one in study.contexts]
        sides: list[tuple[str, Cells, str]] = [("ours", study.ours, analysis.comparison.metric)]
        if study.paper:
            sides.append(("paper", study.paper, RETURN))
        # One range for all values ± standard deviation, so that adjacent panels can be compared.
        there = [cell for _, side, _ in sides for cells in side.values() for cell in cells if cell]
        low = min((cell.mean - (cell.std or 0.0) for cell in there), default=0.0)
        high = max((cell.mean + (cell.std or 0.0) for cell in there), default=1.0)
        margin = 0.04 * (high - low) or 0.5
        draw = partial(_draw_contexts, contexts=names, styles=analysis.styles, limits=(low - margin, high + margin))
        for title, side, column in sides:
            summary = "By number of contexts: " + "; ".join(
                f"{method} ({_listed(names, cells) or 'none yet'})" for method, cells in side.items()
            )
            shown = partial(draw, side=side, ylabel=find(column).axis)
            panels.append(Panel(f"{study.task}, {title}", shown, f"{summary}."))
    if not panels:
        return None
    figure = _fitting("contexts", analysis, panels, min(2, len(panels)), analysis.methods)
    return replace(figure, shared_labels=False)


def _draw_contexts(
    axes: Axes, contexts: Sequence[str], side: Cells, styles: Styles, ylabel: str, limits: tuple[float, float]
) -> None:
    """Mean ± standard deviation over the number of contexts, one line per method."""
    for line_number, (name, cells) in enumerate(side.items()):
        there = {place: cell for place, cell in enumerate(cells) if cell}
        aside = np.array(list(there)) + (line_number - (len(side) - 1) / 2) * 0.06
        means, stds = [cell.mean for cell in there.values()], [cell.std or 0.0 for cell in there.values()]
        style = line(styles[name], marker=styles[name].marker, markersize=3.5, capsize=2, elinewidth=0.8)
        axes.errorbar(aside, means, stds, **style)
    axes.set_xticks(range(len(contexts)), contexts)
    axes.set_xlim(-0.4, len(contexts) - 0.6)
    axes.set_ylim(*limits)
    axes.set_xlabel("number of contexts |C|")
    axes.set_ylabel(ylabel)


def _listed(names: list[str], cells: Sequence[Cell | PaperResult | None]) -> str:
    return ", ".join(f"{name}: {number(cell.mean)}" for name, cell in zip(names, cells, strict=True) if cell)


def _fitting(name: str, analysis: Analysis, panels: list[Panel], columns: int, legend: list[str]) -> Figure:
    """As wide as the page, or narrower with fewer panels."""
    width = {1: COLUMN_INCHES, 2: 5.0}.get(columns, PAGE_WIDTH_INCHES)
    return Figure(name, panels, columns, analysis.styles, legend, 1.9 if columns < 3 else 1.6, width)


def _drawn(analysis: Analysis, panels: Iterable[Mapping[str, Curve]]) -> list[str]:
    """The methods with a curve in some panel."""
    there = {name for curves in panels for name in curves}
    return [name for name in analysis.methods if name in there]


def _ends(of: Mapping[str, Curve]) -> str:
    """The last mean of every curve."""
    if not of:
        return "no values."
    steps = max(curve.steps[-1] for curve in of.values())
    last = (f"{name} {number(float(curve.mean[np.isfinite(curve.mean)][-1]))}" for name, curve in of.items())
    return f"Up to {short_number(round(steps))} steps; last means: {', '.join(last)}."


def _opacity(methods: Mapping[str, object]) -> float:
    return BAND_OPACITY[len(methods) > MANY_METHODS]


def _wants_logarithm(curves: Mapping[str, Curve]) -> bool:
    values = [value for curve in curves.values() for value in curve.mean[np.isfinite(curve.mean)]]
    return bool(values) and min(values) > 0 and max(values) > LOG_RANGE * min(values)

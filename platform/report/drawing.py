"""How panels look: Matplotlib's settings for a paper, and one function per kind of panel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.lines import Line2D

from bonuslab.platform.pictures.palette import SCOPE_COLOURS, SeriesStyle, mixed
from bonuslab.platform.report.curves import Curve
from bonuslab.platform.report.names import wrapped
from bonuslab.platform.report.statistics import Estimate

INK, FAINT, RULE = "#1c2024", "#5c6570", "#d8dce1"
"""Text and axes, small text, and grid lines; the page replaces them by its own colours."""
LEGEND_POINTS, TICK_POINTS = 7.5, 7
STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": TICK_POINTS,
    "ytick.labelsize": TICK_POINTS,
    "legend.fontsize": LEGEND_POINTS,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": RULE,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.3,
    "axes.formatter.limits": (-3, 4),
    "axes.unicode_minus": True,
    "text.parse_math": False,  # a name may hold any character
    # Text stays text: it can be searched and edited, and journals accept its fonts.
    "svg.fonttype": "none",
    "svg.hashsalt": "bonuslab",
    "pdf.fonttype": 42,
    "savefig.dpi": 200,
}
BAND_OPACITY, MANY_METHODS = (0.16, 0.09), 4
"""Bands of more methods than this are fainter, or they would hide each other."""
LOG_RANGE = 30.0
"""Positive curves with at least this ratio of highest to lowest value have a logarithmic axis."""
Styles = Mapping[str, SeriesStyle]
Means = Mapping[str, Sequence[tuple[float, float] | None]]
"""By method, mean and standard deviation at each place; None where there is no value."""


def line(style: SeriesStyle, **changes: Any) -> dict[str, Any]:
    """Matplotlib's arguments for a line of this style."""
    return {"color": style.colour, "linestyle": (0, style.dash) if style.dash else "-", **changes}


def draw_intervals(
    axes: Axes, estimates: Mapping[str, Estimate], styles: Styles, unit_range: bool, xlabel: str
) -> None:
    """One row per method, the first on top: a point and its interval, with the number beside it."""
    for row, (name, estimate) in enumerate(estimates.items()):
        style = styles[name]
        if estimate.low is not None and estimate.high is not None:
            axes.barh(row, estimate.high - estimate.low, 0.62, estimate.low, color=style.colour, alpha=0.35, lw=0)
        axes.plot([estimate.value] * 2, [row - 0.31, row + 0.31], color=style.colour, lw=2, solid_capstyle="butt")
        axes.annotate(
            f"{estimate.value:.3g}" if abs(estimate.value) >= 10 else f"{estimate.value:.2f}",
            (1.01, row),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=TICK_POINTS,
        )
    axes.set_yticks(range(len(estimates)), [wrapped(name) for name in estimates])
    axes.set_ylim(len(estimates) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_locator(ticker.MaxNLocator(4))
    axes.set_xlabel(xlabel)
    low, high = axes.get_xlim()
    axes.set_xlim((0, 1) if unit_range else (min(0, low), max(0, high)))


def draw_profiles(
    axes: Axes, thresholds: np.ndarray, profiles: Mapping[str, np.ndarray], styles: Styles, metric: str
) -> None:
    """The share of runs above each threshold."""
    for name, (value, low, high) in profiles.items():
        axes.fill_between(thresholds, low, high, color=styles[name].colour, alpha=_opacity(profiles), lw=0)
        axes.plot(thresholds, value, **line(styles[name]))
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlim(thresholds[0], thresholds[-1])
    axes.set_xlabel(f"{metric} (τ)")
    axes.set_ylabel("share of runs above τ")


def draw_curves(
    axes: Axes,
    curves: Mapping[str, Curve],
    styles: Styles,
    ylabel: str,
    unit_range: bool = False,
    may_be_logarithmic: bool = False,
) -> None:
    """Mean ± one standard deviation over seeds; fainter where some seeds have no value yet."""
    logarithmic = may_be_logarithmic and _wants_logarithm(curves)
    for name, curve in curves.items():
        whole, style = curve.whole_until, styles[name]
        axes.plot(curve.steps[:whole], curve.mean[:whole], **line(style))
        rest = slice(max(whole - 1, 0), None)
        axes.plot(curve.steps[rest], curve.mean[rest], **line(style, alpha=0.4))
        if curve.seeds.max() > 1:
            low, high = curve.mean - curve.std, curve.mean + curve.std
            if unit_range:
                low, high = np.clip(low, 0, 1), np.clip(high, 0, 1)
            if logarithmic:
                low = np.maximum(low, curve.mean / 10)
            axes.fill_between(curve.steps, low, high, color=style.colour, alpha=_opacity(curves), lw=0)
    if unit_range:
        axes.set_ylim(-0.02, 1.02)
    if logarithmic:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(ticker.LogLocator(numticks=5))
        axes.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: short_number(value)))
        axes.minorticks_off()
    if curves:
        axes.set_xlim(0, max(curve.steps[-1] for curve in curves.values()) * 1.01)
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda steps, _: short_number(steps)))
    axes.xaxis.set_major_locator(ticker.MaxNLocator(4))
    axes.set_xlabel("environment steps")
    axes.set_ylabel(ylabel)


def draw_contexts(
    axes: Axes,
    contexts: Sequence[str],
    means: Means,
    styles: Styles,
    ylabel: str,
    limits: tuple[float, float],
) -> None:
    """Mean ± standard deviation over the number of contexts, one line per method."""
    for number, (name, cells) in enumerate(means.items()):
        places = [place for place, cell in enumerate(cells) if cell is not None]
        there = [cell for cell in cells if cell is not None]
        aside = np.array(places) + (number - (len(means) - 1) / 2) * 0.06
        style = styles[name]
        axes.errorbar(
            aside,
            [mean for mean, _ in there],
            [std for _, std in there],
            **line(style, marker=style.marker, markersize=3.5, capsize=2, elinewidth=0.8),
        )
    axes.set_xticks(range(len(contexts)), contexts)
    axes.set_xlim(-0.4, len(contexts) - 0.6)
    axes.set_ylim(*limits)
    axes.set_xlabel("number of contexts |C|")
    axes.set_ylabel(ylabel)


def draw_improvement(axes: Axes, names: Sequence[str], chances: Mapping[tuple[str, str], Estimate]) -> None:
    """P(row better than column) as a matrix; bold where the interval excludes one half."""
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


def legend_handles(names: Sequence[str], styles: Styles) -> list[Line2D]:
    """A line per method for a figure's legend."""
    return [Line2D([], [], label=wrapped(name), **line(styles[name])) for name in names]


def short_number(value: float) -> str:
    """1.5M for 1,500,000 and 20k for 20,000."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def _opacity(methods: Mapping[str, object]) -> float:
    return BAND_OPACITY[len(methods) > MANY_METHODS]


def _wants_logarithm(curves: Mapping[str, Curve]) -> bool:
    values = np.concatenate([curve.mean[np.isfinite(curve.mean)] for curve in curves.values()])
    return bool(len(values) and values.min() > 0 and values.max() > LOG_RANGE * values.min())

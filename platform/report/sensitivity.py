"""The figure of a search: how much each bonus depends on its coefficient, with a line per normalisation."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import partial
from statistics import fmean
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

from bonuslab.algorithms.rllib.metrics import find
from bonuslab.platform.pictures.palette import DASHES, MARKERS, SCOPE_COLOURS, SeriesStyle
from bonuslab.platform.report.drawing import INK, Figure, Panel, line, wrapped
from bonuslab.platform.report.search_records import Place, Sample, SearchRecord, measure
from bonuslab.platform.report.trial_results import RETURN

NAME = "sensitivity"
MOST_COLUMNS = 4
MARKER_POINTS = 4
_SIGNS = dict(zip(MARKERS, "●■▲◆▼✚", strict=True))
CAPTION = (
    "Each point is a sample: the mean over search seeds, with a dot for each seed. Filled points were trained to the "
    "end and joined by a line for each normalisation; hollow ones were stopped early and drawn at their last value; "
    "the ring is the winner."
)


def sensitivity(record: SearchRecord) -> Figure:
    """Two rows of panels for each few bonuses: the searched metric and the return over the coefficient."""
    kinds = record.search["space"]["normalise"]
    styles = {kind: SeriesStyle(INK, INK, DASHES[turn], MARKERS[turn]) for turn, kind in enumerate(kinds)}
    metrics = list(dict.fromkeys((record.search["metric"], RETURN)))
    places = list(record.places.items())
    columns = min(MOST_COLUMNS, len(places))
    limits = record.search["space"]["coefficient"]
    panels = []
    for first in range(0, len(places), columns):
        some = places[first : first + columns]
        for metric in metrics:
            for place, samples in some:
                draw = partial(_draw, samples, record.winners.get(place), metric, styles, limits)
                panels.append(Panel(_title(place), draw, f"{find(metric).axis} over the coefficient: {_title(place)}"))
            panels += [Panel("", lambda axes: axes.set_visible(False), "")] * (columns - len(some))
    width = 1.7 * columns + 0.6
    legend = {f"{_SIGNS[style.marker]} {kind}": style for kind, style in styles.items()}
    return Figure(
        NAME, panels, columns, legend, list(legend), panel_height_inches=1.9, width_inches=width, shared_labels=False
    )


def _draw(
    samples: Sequence[Sample],
    winner: Sample | None,
    metric: str,
    styles: dict[str, SeriesStyle],
    limits: tuple[float, float],
    axes: Axes,
) -> None:
    for kind, style in styles.items():
        colour = SCOPE_COLOURS.get(samples[0].scope, INK)
        tried = sorted(
            (sample for sample in samples if sample.settings.get("normalise") == kind),
            key=lambda sample: sample.settings["coefficient"],
        )
        points = [(sample, sample.settings["coefficient"], _values(sample, metric)) for sample in tried]
        points = [(sample, at, values) for sample, at, values in points if values]
        whole = [(at, fmean(values)) for sample, at, values in points if sample.ended == "finished"]
        if whole:
            axes.plot(*zip(*whole, strict=True), **line(style, color=colour))
        for sample, at, values in points:
            if len(values) > 1:
                axes.plot([at] * len(values), values, ".", color=colour, markersize=2, alpha=0.7)
            filled = colour if sample.ended == "finished" else "white"
            look: dict[str, Any] = {"color": colour, "markerfacecolor": filled, "markersize": MARKER_POINTS}
            axes.plot(at, fmean(values), marker=style.marker, clip_on=False, zorder=3, **look)
            if sample is winner:
                ring: dict[str, Any] = {"color": INK, "markerfacecolor": "none", "markersize": 2.4 * MARKER_POINTS}
                axes.plot(at, fmean(values), marker="o", clip_on=False, zorder=4, **ring)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(numticks=5))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlim(limits[0] / 1.3, limits[1] * 1.3)
    if metric.endswith(("win_rate", "coverage")):
        axes.set_ylim(-0.03, 1.03)
    axes.set_xlabel("coefficient")
    axes.set_ylabel(find(metric).axis)


def _values(sample: Sample, metric: str) -> list[float]:
    """The value of each seed that has one."""
    name = RETURN if metric == RETURN else "objective"
    found = [measure([one.rows], one.total_env_steps, sample.metric)[name] for one in sample.seeds if one.rows]
    return [value for value in found if not math.isnan(value)]


def _title(place: Place) -> str:
    task, contexts, bonus = place
    short = re.sub(r"\w+=(?=[a-z])", "", bonus)  # `count.global(message)`: a panel is narrow
    return f"{wrapped(short)}\n{task}" + ("" if contexts == "inf" else f", |C| = {contexts}")

"""`bl.plot`: learning curves with bootstrap intervals over seeds."""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from bonuslab.algorithms.rllib.metrics import RESULTS, find
from bonuslab.envs.errors import unknown
from bonuslab.platform.api.handles import Grid, Run
from bonuslab.platform.pictures.palette import bonus_styles
from bonuslab.platform.report.drawing import STYLE, line, short_number
from bonuslab.platform.report.statistics import interval_of_mean
from bonuslab.platform.run.results import EPISODES, fewest_episodes

POINTS = 100
UNIT_RANGE = ("win_rate", "coverage")
"""Suffixes of metrics in [0, 1]."""


class Curves(Figure):
    """A figure that notebooks show."""

    def _repr_png_(self) -> bytes:
        picture = BytesIO()
        self.savefig(picture, format="png")
        return picture.getvalue()


def plot(runs: Run | Grid | Iterable[Run | Grid], metric: str = "win_rate") -> Figure:
    """One panel per task, one line per bonus and variant: the mean over seeds and its 95 % bootstrap interval."""
    found = list(_flattened(runs))
    known = {column for run in found for column in run.metrics.columns}
    if metric not in known:
        raise unknown("metric of these runs", metric, known)
    labels = [run.labels for run in found]
    panels = list(dict.fromkeys((label["task"], label["contexts"]) for label in labels))
    methods = [f"{label['bonus']} ({label['variant']})" if label.get("variant") else label["bonus"] for label in labels]
    styles = bonus_styles({method: label["scope"] for method, label in zip(methods, labels, strict=True)})
    with rc_context(STYLE):
        figure = Curves(figsize=(3.6 * len(panels), 2.8), layout="constrained")
        for place, panel in enumerate(panels):
            axes = figure.add_subplot(1, len(panels), place + 1)
            task, contexts = panel
            axes.set_title(task if contexts == "inf" else f"{task}, {contexts} contexts")
            axes.set_xlabel("environment steps")
            axes.set_ylabel(find(metric).axis)
            axes.xaxis.set_major_formatter(FuncFormatter(short_number))
            for name, style in styles.items():
                series = [
                    _series(run, metric)
                    for run, label, method in zip(found, labels, methods, strict=True)
                    if (label["task"], label["contexts"], method) == (*panel, name)
                ]
                _draw(axes, [one for one in series if len(one[0])], label=name, **line(style))
            axes.set_xlim(left=0)
            if metric.endswith(UNIT_RANGE):
                axes.set_ylim(-0.02, 1.02)
            axes.legend(frameon=False)
    return figure


def _draw(axes: Any, series: list[tuple[np.ndarray, np.ndarray]], **style: Any) -> None:
    """Draw the mean where all seeds have values and, for several seeds, its interval."""
    if not series:
        return
    first, last = max(steps[0] for steps, _ in series), min(steps[-1] for steps, _ in series)
    steps = np.linspace(first, last, POINTS)
    values = np.stack([np.interp(steps, *one) for one in series])  # [seeds, POINTS]
    marker = "o" if first == last else None  # a single row would be no line
    axes.plot(steps, values.mean(axis=0), marker=marker, **style)
    if len(series) > 1:
        axes.fill_between(steps, *interval_of_mean(values), color=style["color"], alpha=0.15, linewidth=0)


def _series(run: Run, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Steps and values; of training results, where enough episodes have ended, or else the last."""
    rows = run.metrics
    rows = rows[rows[metric].notna()] if metric in rows else rows[:0]
    if find(metric).group == RESULTS and EPISODES in rows:
        enough = rows[EPISODES] >= fewest_episodes(run.trial.description().hyperparameters)
        rows = rows[enough] if enough.any() else rows.tail(1)
    return (
        (rows["env_steps"].to_numpy(float), rows[metric].to_numpy(float)) if len(rows) else (np.empty(0), np.empty(0))
    )


def _flattened(runs: Run | Grid | Iterable[Run | Grid]) -> Iterable[Run]:
    for item in [runs] if isinstance(runs, Run | Grid) else runs:
        yield from item.runs if isinstance(item, Grid) else [item]

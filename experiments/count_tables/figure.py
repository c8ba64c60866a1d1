"""The main figure: returns over the number of contexts, ours beside the paper's, and the other rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bonuslab.experiments.count_tables.cells import Cell, seeds_text
from bonuslab.experiments.count_tables.rows import ALL_KINDS, BANDIT, Row
from bonuslab.platform.pictures.palette import SCOPE_COLOURS
from bonuslab.platform.report.drawing import FAINT, INK, STYLE
from bonuslab.platform.report.paper_numbers import PaperResult
from bonuslab.platform.report.statistics import interval_of_mean
from bonuslab.platform.report.trial_results import contexts_text

COLOURS = {**SCOPE_COLOURS, BANDIT: "#7a4a9e"}
MARKERS = dict(zip(ALL_KINDS, "XosDvP", strict=True))
PANEL_INCHES = (2.5, 2.2)
_OFFSET = 0.07
"""Horizontal distance between the kinds of bonus."""
BEST_RETURN = 1.0
FILE_TYPES = ("png", "svg")


def draw_finding(found: Sequence[Cell], folder: Path) -> Path:
    """Write finding.png and .svg: panels for each row with several numbers of contexts, then one for all others."""
    rows = list(dict.fromkeys(cell.row for cell in found))
    over_contexts = [row for row in rows if len(row.contexts) > 1]
    single = [row for row in rows if len(row.contexts) == 1]
    with mpl.rc_context(STYLE):
        panels = 2 * len(over_contexts) + (2 if single else 0)
        figure = Figure(figsize=(PANEL_INCHES[0] * panels, PANEL_INCHES[1] + 0.4), layout="constrained")
        grid = list(figure.subplots(1, panels, squeeze=False, sharey=True)[0])
        for row in over_contexts:
            own, paper = grid.pop(0), grid.pop(0)
            here = [cell for cell in found if cell.row == row]
            _over_contexts(own, row, {cell: _ours(cell) for cell in here})
            own.set_title(f"{row.name}\nours, {seeds_text(here)}")
            _over_contexts(paper, row, {cell: _papers(cell.paper) for cell in here if cell.paper})
            paper.set_title(f"{row.paper_task}, {row.feature}s\npaper, 5 seeds")
        if single:
            own, paper = grid
            here = [cell for cell in found if cell.row in single]
            _side_by_side(own, single, {cell: _ours(cell) for cell in here})
            own.set_title(f"other rows\nours, {seeds_text(here)}")
            _side_by_side(paper, single, {cell: _papers(cell.paper) for cell in here if cell.paper}, of_paper=True)
            paper.set_title("other rows\npaper, 5 seeds")
        figure.axes[0].set_ylabel("final return (1 = always wins)")
        kinds = list(dict.fromkeys(cell.kind for cell in found))
        handles = [
            mpl.lines.Line2D([], [], color=COLOURS[kind], marker=MARKERS[kind], ms=4, label=kind) for kind in kinds
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)
        for ending in FILE_TYPES:
            figure.savefig(folder / f"finding.{ending}")
    return folder / "finding.png"


@dataclass(frozen=True)
class Spread:
    """A mean, the ends of its error bar and the values by seed."""

    mean: float
    low: float
    high: float
    values: tuple[float, ...] = ()


Values = dict[Cell, Spread]


def _ours(cell: Cell) -> Spread:
    """With the 95 % bootstrap interval of the mean over seeds."""
    low, high = interval_of_mean(np.array(cell.values)[:, None])
    return Spread(cell.mean, float(low[0]), float(high[0]), cell.values)


def _papers(cell: PaperResult) -> Spread:
    """With the printed standard deviation, as far as such a return is possible."""
    return Spread(cell.mean, cell.mean - cell.std, min(cell.mean + cell.std, BEST_RETURN))


def _over_contexts(axes: Axes, row: Row, values: Values) -> None:
    _points(axes, values, lambda cell: row.contexts.index(cell.contexts), _OFFSET, line="-")
    _ticks(axes, [contexts_text(contexts) for contexts in row.contexts])
    axes.set_xlabel("number of contexts |C|")


def _side_by_side(axes: Axes, rows: Sequence[Row], values: Values, of_paper: bool = False) -> None:
    _points(axes, values, lambda cell: rows.index(cell.row), 2 * _OFFSET, line="none")
    # On two lines, or neighbours would overlap.
    names = [(row.paper_task if of_paper else row.task).replace("-", "-\n", 1) for row in rows]
    settings = [f"{row.feature}s\n|C| = {contexts_text(row.contexts[0])}" for row in rows]
    _ticks(axes, [f"{name}\n{setting}" for name, setting in zip(names, settings, strict=True)])


def _points(axes: Axes, values: Values, place_of: Callable[[Cell], int], offset: float, line: str) -> None:
    """Means with error bars, and every seed as a faint dot."""
    kinds = list(dict.fromkeys(cell.kind for cell in values))
    for number, kind in enumerate(kinds):
        of_kind = {place_of(cell): value for cell, value in values.items() if cell.kind == kind}
        places = [place + (number - (len(kinds) - 1) / 2) * offset for place in of_kind]
        axes.errorbar(
            places,
            [spread.mean for spread in of_kind.values()],
            np.transpose([(spread.mean - spread.low, spread.high - spread.mean) for spread in of_kind.values()]),
            color=COLOURS[kind],
            marker=MARKERS[kind],
            linestyle=line,
            ms=4,
            capsize=2,
            elinewidth=0.8,
        )
        for place, spread in zip(places, of_kind.values(), strict=True):
            axes.plot([place] * len(spread.values), spread.values, ".", color=COLOURS[kind], ms=3, alpha=0.45)


def _ticks(axes: Axes, names: Sequence[str]) -> None:
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.axhline(0, color=FAINT, lw=0.6)
    axes.tick_params(colors=INK)

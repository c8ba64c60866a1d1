"""Figures of value functions, one panel per context as in the paper's appendix, and of similarity over |C|."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from bonuslab.envs.minihack import glyphs as g
from bonuslab.envs.minihack.render import MapBox, map_picture, used_part
from bonuslab.experiments.value_functions.floor_plan import COLUMNS, ROWS, FloorPlan
from bonuslab.experiments.value_functions.paper_similarity import paper_similarity
from bonuslab.experiments.value_functions.sampling import Sample
from bonuslab.experiments.value_functions.similarity import Similarity
from bonuslab.platform.cli.tasks import short_name
from bonuslab.platform.pictures.palette import SCOPE_COLOURS
from bonuslab.platform.report.drawing import FAINT, INK, STYLE

PANELS: Final = 3
"""Contexts shown, as in the paper."""
MOST_MESSAGES: Final = 14
FILE_TYPES: Final = ("png", "svg")
COLOURS: Final = "viridis"
_NOWHERE: Final = "#e9ebee"
"""Background, where the agent never is."""
_VERTICAL_WALL, _HORIZONTAL_WALL = g.WALLS[0], g.WALLS[1]
_PAPER_COLOUR: Final = "#b3261e"


def position_maps(sample: Sample) -> Figure:
    """The value of every position, and below it the map, if the level has a plan."""
    num = min(PANELS, len(sample.contexts))
    maps = sample.values[:num].reshape(num, ROWS, COLUMNS)
    plans = sample.plans[:num]
    box = used_part(np.stack([glyphs_of(plan) for plan in plans])) if plans else _box_of(maps)
    rows = 2 if plans else 1
    height = 2.05 * box.height / box.width * rows + 0.4
    figure = Figure(figsize=(6.75, height), layout="constrained")
    grid = figure.subplots(rows, num, squeeze=False)
    for column in range(num):
        axes = grid[0, column]
        shown = np.ma.masked_equal(box.crop(maps[column]), 0.0)
        axes.set_facecolor(_NOWHERE)
        picture = axes.imshow(shown, cmap=COLOURS, vmin=0, vmax=1, interpolation="nearest")
        axes.set_title(f"context {column + 1}")
        if plans:
            goal = plans[column].goal
            axes.plot(goal[1] - box.left, goal[0] - box.top, "x", color=INK, ms=4, mew=1)
            grid[1, column].imshow(map_picture(glyphs_of(plans[column]), plans[column].start, box))
    for axes in grid.flat:
        _bare(axes)
    figure.colorbar(picture, ax=grid[0].tolist(), shrink=0.9, pad=0.01, label="V*")
    return figure


def message_bars(sample: Sample) -> Figure:
    """The values of messages, highest first, one panel per context."""
    num = min(PANELS, len(sample.contexts))
    order = np.argsort(-sample.values.mean(axis=0), kind="stable")[:MOST_MESSAGES]
    values = sample.values[:num, order]
    labels = [textwrap.shorten(sample.names[place] or "(blank)", 58, placeholder=" …") for place in order]
    figure = Figure(figsize=(6.75, 0.19 * len(order) + 0.75), layout="constrained")
    grid = figure.subplots(1, num, squeeze=False, sharex=True, sharey=True)[0]
    scale = Normalize(0, max(float(values.max()), 1e-9))
    colours = mpl.colormaps[COLOURS]
    for column, axes in enumerate(grid):
        axes.barh(range(len(order)), values[column], color=colours(scale(values[column])), height=0.75)
        axes.set_title(f"context {column + 1}")
        axes.set_xlabel("V*")
        axes.grid(axis="y", visible=False)
    grid[0].set_yticks(range(len(order)), labels)
    grid[0].set_ylim(len(order) - 0.4, -0.6)
    figure.colorbar(ScalarMappable(scale, COLOURS), ax=list(grid), shrink=0.9, pad=0.01)
    return figure


def similarity_over_contexts(found: Mapping[tuple[str, str], Sequence[Similarity]], counts: Sequence[str]) -> Figure:
    """One panel per task and feature: ours with its interval, and the paper's where reported."""
    figure = Figure(figsize=(6.75, 2.0 * -(-len(found) // 3)), layout="constrained")
    grid = figure.subplots(-(-len(found) // 3), 3, squeeze=False, sharey=True)
    for axes, ((task, feature), rows) in zip(grid.flat, found.items(), strict=False):
        places = range(len(rows))
        runs = [one.runs or (one.value, one.value) for one in rows]
        axes.fill_between(places, [low for low, _ in runs], [high for _, high in runs], color=FAINT, alpha=0.15, lw=0)
        errors = [[one.value - one.low for one in rows], [one.high - one.value for one in rows]]
        axes.errorbar(
            places, [one.value for one in rows], errors, fmt="o-", color=SCOPE_COLOURS["global"], ms=3, capsize=2
        )
        paper = [paper_similarity(task, feature, count) for count in counts]
        at = [place for place, value in enumerate(paper) if value is not None]
        axes.plot(at, [paper[place] for place in at], "x", color=_PAPER_COLOUR, ms=5, mew=1.2)
        axes.set_xticks(places, ["∞" if count == "inf" else count for count in counts])
        axes.set_title(f"{task}\n{feature}s")
        axes.set_ylim(0, 1.05)
        axes.set_xlabel("number of contexts |C|")
    for axes in grid.flat[len(found) :]:
        axes.set_visible(False)
    for axes in grid[:, 0]:
        axes.set_ylabel("cosine similarity")
    return figure


def glyphs_of(plan: FloorPlan) -> np.ndarray:
    """[21, 79] glyphs of a plan, with walls as the game draws them."""
    terrain = plan.terrain.copy()
    wall = terrain == _VERTICAL_WALL
    beside = np.zeros_like(wall)
    floor = np.isin(terrain, sorted(g.PASSABLE))
    beside[:, 1:] |= floor[:, :-1]
    beside[:, :-1] |= floor[:, 1:]
    terrain[wall & ~beside] = _HORIZONTAL_WALL
    return (terrain + g.STONE).astype(np.int16)


def save(figure: Figure, folder: Path, name: str) -> str:
    """Write a figure in all file types; return the name of the PNG."""
    for kind in FILE_TYPES:
        figure.savefig(folder / f"{name}.{kind}", dpi=STYLE["savefig.dpi"])
    return f"{name}.png"


def draw(sample: Sample, folder: Path) -> str:
    """Write the figure of a sample's value functions."""
    with mpl.rc_context(STYLE):
        figure = position_maps(sample) if sample.feature == "position" else message_bars(sample)
        return save(figure, folder, f"{short_name(sample.task)}_{sample.feature}")


def draw_similarity(found: Mapping[tuple[str, str], Sequence[Similarity]], counts: Sequence[str], folder: Path) -> str:
    """Write the figure of similarities over the number of contexts."""
    with mpl.rc_context(STYLE):
        return save(similarity_over_contexts(found, counts), folder, "similarity")


def _box_of(maps: np.ndarray) -> MapBox:
    rows, columns = np.flatnonzero(maps.any(axis=(0, 2))), np.flatnonzero(maps.any(axis=(0, 1)))
    return MapBox(int(rows[0]), int(columns[0]), int(np.ptp(rows)) + 1, int(np.ptp(columns)) + 1)


def _bare(axes: Axes) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)

"""Figures of several panels: as files for a paper, and as single panels for the page."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from bonuslab.platform.report.drawing import FAINT, INK, LEGEND_POINTS, RULE, STYLE, Styles, legend_handles
from bonuslab.platform.report.names import lines, text_inches, wrapped

FILE_TYPES = ("png", "svg", "pdf")
PAGE_WIDTH_INCHES = 6.75
"""The text width of the paper's two-column page."""
LEGEND_LINE_INCHES = 0.2
TITLE_POINTS = (6.0, 8.0)
"""The smallest and the largest size of a panel's title."""
_PAGE_COLOURS = {INK: "var(--ink)", FAINT: "var(--faint)", RULE: "var(--rule)"}


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    draw: Callable[[Axes], None]
    summary: str
    """Text alternative."""
    group: str = ""
    """Heading on the page, in a figure with a column per heading."""
    row: str = ""
    """And its title there."""


@dataclass(frozen=True)
class Figure:
    """Panels in rows."""

    name: str
    """Of its files."""
    panels: list[Panel]
    columns: int
    legend: list[str] = field(default_factory=list)
    """The methods in it; empty where the panels name them."""
    panel_height_inches: float = 1.55
    width_inches: float = PAGE_WIDTH_INCHES
    shared_labels: bool = True
    """Label the outer axes only."""
    shared_rows: bool = False
    """Name the rows on the left only."""
    page_inches: tuple[float, float] = (3.0, 2.05)
    """Size of a panel on the page, which the browser scales: larger panels have smaller letters."""
    page_margins_inches: tuple[float, float, float, float] = (0.48, 0.08, 0.42, 0.08)
    """Left, right, below and above its axes."""


def save(figure: Figure, styles: Styles, folder: Path) -> list[Path]:
    """Write the figure as PNG, SVG and PDF."""
    with mpl.rc_context(STYLE):
        rows = -(-len(figure.panels) // figure.columns)
        in_a_row = _legend_columns(figure)
        legend_lines = -(-len(figure.legend) // in_a_row) * max((lines(name) for name in figure.legend), default=0)
        height = rows * figure.panel_height_inches + LEGEND_LINE_INCHES * legend_lines
        canvas = Canvas(figsize=(figure.width_inches, height), layout="constrained")
        grid = canvas.subplots(rows, figure.columns, squeeze=False)
        for number, axes in enumerate(grid.flat):
            if number < len(figure.panels):
                _place(figure, number, axes)
            else:
                axes.set_visible(False)
        if figure.legend:
            handles = legend_handles(figure.legend, styles)
            # Matplotlib fills columns, but people read rows.
            read = [handle for column in range(in_a_row) for handle in handles[column::in_a_row]]
            canvas.legend(handles=read, loc="outside lower center", ncols=in_a_row, frameon=False, handlelength=2.6)
        # Laid out once: Matplotlib would repeat it twice per file.
        canvas.draw_without_rendering()
        canvas.set_layout_engine(None)
        paths = [folder / f"{figure.name}.{kind}" for kind in FILE_TYPES]
        for path in paths:
            # Without a date: the same grid gives the same file.
            canvas.savefig(path, metadata={".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix))
    return paths


def _place(figure: Figure, number: int, axes: Axes) -> None:
    """Draw one panel of a figure with its labels."""
    panel = figure.panels[number]
    panel.draw(axes)
    axes.set_title(panel.title, fontsize=_title_points(figure))
    if figure.shared_labels and number + figure.columns < len(figure.panels):
        axes.set_xlabel("")
    if number % figure.columns:
        if figure.shared_labels:
            axes.set_ylabel("")
        if figure.shared_rows:
            axes.tick_params(labelleft=False)


def _title_points(figure: Figure) -> float:
    """The size at which the longest title fits over its panel."""
    smallest, largest = TITLE_POINTS
    longest = max(text_inches(panel.title, largest) for panel in figure.panels)
    room = 0.8 * figure.width_inches / figure.columns
    return max(smallest, min(largest, largest * room / longest)) if longest else largest


def _legend_columns(figure: Figure) -> int:
    """How many names fit into a row of the legend."""
    longest = max((text_inches(wrapped(name), LEGEND_POINTS) for name in figure.legend), default=0.0)
    return max(1, min(len(figure.legend), int(figure.width_inches / (0.55 + longest))))


def panel_svg(figure: Figure, number: int, styles: Styles) -> str:
    """One panel as an `svg` element with the page's colours, light or dark, and its font."""
    panel = figure.panels[number]
    width, height = figure.page_inches
    left, right, bottom, top = figure.page_margins_inches
    with mpl.rc_context(STYLE):
        canvas = Canvas(figsize=(width, height))
        # Fixed margins keep stacked panels aligned and need no measuring.
        axes = canvas.add_axes((left / width, bottom / height, 1 - (left + right) / width, 1 - (bottom + top) / height))
        panel.draw(axes)
        if panel.group:
            axes.set_ylabel("")  # its title says it
        written = StringIO()
        canvas.savefig(written, format="svg", transparent=True, metadata={"Date": None})
    colours = _PAGE_COLOURS | {style.colour: f"var({variable(name)})" for name, style in styles.items()}
    return _for_the_page(written.getvalue(), f"{figure.name}-{number}", panel.summary, colours)


def variable(method: str) -> str:
    """The CSS variable of a method's colour."""
    return "--m-" + "".join(
        letter if letter.isascii() and letter.isalnum() else f"_{ord(letter):x}" for letter in method
    )


def _for_the_page(svg: str, prefix: str, summary: str, colours: Mapping[str, str]) -> str:
    svg = svg[svg.index("<svg") :].strip()
    # Matplotlib's style sheet would apply to the whole page.
    for part in ("metadata", "style"):
        svg = re.sub(rf"<{part}\b.*?</{part}>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)
    svg = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}-", svg)
    svg = re.sub(r"#[0-9a-f]{6}\b", lambda found: colours.get(found[0], found[0]), svg)
    svg = re.sub(r"font-family: [^;\"]*;? ?", "", svg)
    # Half of the rest is digits beyond the second decimal, rotations by zero, and space.
    svg = re.sub(r' transform="rotate\(-0 [^"]*"', "", svg)
    svg = re.sub(r"<[^>]+>", lambda tag: re.sub(r"(\d\.\d\d)\d+", r"\1", tag[0]), svg)  # never in what is read
    svg = re.sub(r">\s+<", "><", svg).replace("\n", "")
    box = re.search(r'viewBox="[^"]*"', svg)
    assert box is not None
    opening = f'<svg {box[0]} role="img" aria-label="{html.escape(summary, quote=True)}">'
    return re.sub(r"<svg[^>]*>", lambda _: opening, svg, count=1)

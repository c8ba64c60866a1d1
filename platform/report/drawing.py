"""How figures look: Matplotlib's settings, files of several panels for a paper, and single panels for the page."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from bonuslab.platform.pictures.palette import SeriesStyle

INK, FAINT, RULE = "#1c2024", "#5c6570", "#d8dce1"
"""Text and axes, small text, and grid lines; the page replaces them by its own colours."""
_PAGE_COLOURS = {INK: "var(--ink)", FAINT: "var(--faint)", RULE: "var(--rule)"}
LEGEND_POINTS, TICK_POINTS = 7.5, 7
TITLE_POINTS = (6.0, 8.0)
"""The smallest and the largest size of a panel's title."""
STYLE: Any = {
    "font.family": "sans-serif",
    **dict.fromkeys(("font.size", "axes.titlesize", "axes.labelsize"), 8),
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize"), TICK_POINTS),
    "legend.fontsize": LEGEND_POINTS,
    **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"), INK),
    **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), FAINT),
    **dict.fromkeys(("axes.linewidth", "xtick.major.width", "ytick.major.width"), 0.6),
    **dict.fromkeys(("xtick.major.size", "ytick.major.size"), 2.5),
    **dict.fromkeys(("axes.spines.top", "axes.spines.right"), False),
    **dict.fromkeys(("axes.grid", "axes.axisbelow"), True),
    "grid.color": RULE,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.3,
    "axes.formatter.limits": (-3, 4),
    "text.parse_math": False,  # a name may hold any character
    # Text stays text: it can be searched and edited, and journals accept its fonts.
    "svg.fonttype": "none",
    "svg.hashsalt": "bonuslab",
    "pdf.fonttype": 42,
    "savefig.dpi": 200,
}
FILE_TYPES = ("png", "svg", "pdf")
COLUMN_INCHES, PAGE_WIDTH_INCHES = 3.25, 6.75
"""The widths of one column and of the text of the paper's two-column page."""
NARROW_INCHES = (3.0, 2.05)
LEGEND_LINE_INCHES = 0.2
LONGEST_LINE = 24
"""Letters in a line of a bonus's name."""
LETTER_EMS = 0.62
"""Approximate width of a letter in the figures' font."""


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
    styles: Mapping[str, SeriesStyle]
    legend: list[str] = field(default_factory=list)
    """The methods in it; empty where the panels name them."""
    panel_height_inches: float = 1.55
    width_inches: float = PAGE_WIDTH_INCHES
    shared_labels: bool = True
    """Label the outer axes only."""
    shared_rows: bool = False
    """Name the rows on the left only."""
    page_inches: tuple[float, float] = NARROW_INCHES
    """Size of a panel on the page, which the browser scales: larger panels have smaller letters."""
    page_margins_inches: tuple[float, float, float, float] = (0.48, 0.08, 0.42, 0.08)
    """Left, right, below and above its axes."""

    @property
    def files(self) -> list[str]:
        """The names of its files."""
        return [f"{self.name}.{kind}" for kind in FILE_TYPES]

    @cached_property
    def groups(self) -> dict[str, list[tuple[str, Markup]]]:
        """Title and SVG of each panel by heading, for the page."""
        groups: dict[str, list[tuple[str, Markup]]] = {}
        for number, panel in enumerate(self.panels):
            groups.setdefault(panel.group, []).append((panel.row or panel.title, Markup(self.panel_svg(number))))
        return groups

    @property
    def narrow(self) -> Figure:
        """The same panels for a phone, with larger letters."""
        return replace(self, name=f"{self.name}-narrow", page_inches=NARROW_INCHES)

    def save(self, folder: Path) -> None:
        """Write the figure as PNG, SVG and PDF."""
        with mpl.rc_context(STYLE):
            rows = -(-len(self.panels) // self.columns)
            longest = text_inches(map(wrapped, self.legend), LEGEND_POINTS)
            in_a_row = max(1, min(len(self.legend), int(self.width_inches / (0.55 + longest))))
            legend_lines = -(-len(self.legend) // in_a_row) * most_lines(self.legend)
            height = rows * self.panel_height_inches + LEGEND_LINE_INCHES * legend_lines
            canvas = Canvas(figsize=(self.width_inches, height), layout="constrained")
            for number, axes in enumerate(canvas.subplots(rows, self.columns, squeeze=False).flat):
                if number < len(self.panels):
                    self._place(number, axes)
                else:
                    axes.set_visible(False)
            if self.legend:
                handles = [Line2D([], [], label=wrapped(name), **line(self.styles[name])) for name in self.legend]
                # Matplotlib fills columns, but people read rows.
                read = [handle for column in range(in_a_row) for handle in handles[column::in_a_row]]
                canvas.legend(handles=read, loc="outside lower center", ncols=in_a_row, frameon=False, handlelength=2.6)
            # Laid out once: Matplotlib would repeat it twice per file.
            canvas.draw_without_rendering()
            canvas.set_layout_engine(None)
            for path in (folder / file for file in self.files):
                # Without a date: the same grid gives the same file.
                canvas.savefig(path, metadata={".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix))

    def _place(self, number: int, axes: Axes) -> None:
        """Draw one panel with its labels, and a title of a size that fits."""
        self.panels[number].draw(axes)
        smallest, largest = TITLE_POINTS
        longest = text_inches([panel.title for panel in self.panels], largest)
        room = 0.8 * self.width_inches / self.columns
        points = max(smallest, min(largest, largest * room / longest)) if longest else largest
        axes.set_title(self.panels[number].title, fontsize=points)
        if self.shared_labels and number + self.columns < len(self.panels):
            axes.set_xlabel("")
        if number % self.columns:
            if self.shared_labels:
                axes.set_ylabel("")
            if self.shared_rows:
                axes.tick_params(labelleft=False)

    def panel_svg(self, number: int) -> str:
        """One panel as an `svg` element with the page's colours, light or dark, and its font."""
        panel = self.panels[number]
        width, height = self.page_inches
        left, right, bottom, top = self.page_margins_inches
        box = (left / width, bottom / height, 1 - (left + right) / width, 1 - (bottom + top) / height)
        with mpl.rc_context(STYLE):
            canvas = Canvas(figsize=(width, height))
            axes = canvas.add_axes(box)  # fixed margins keep stacked panels aligned and need no measuring
            panel.draw(axes)
            if panel.group:
                axes.set_ylabel("")  # its title says it
            written = StringIO()
            canvas.savefig(written, format="svg", transparent=True, metadata={"Date": None})
        colours = _PAGE_COLOURS | {style.colour: f"var({variable(name)})" for name, style in self.styles.items()}
        return _for_the_page(written.getvalue(), f"{self.name}-{number}", panel.summary, colours)


def line(style: SeriesStyle, **changes: Any) -> dict[str, Any]:
    """Matplotlib's arguments for a line of this style."""
    return {"color": style.colour, "linestyle": (0, style.dash) if style.dash else "-", **changes}


def variable(method: str) -> str:
    """The CSS variable of a method's colour."""
    return "--m-" + re.sub(r"[^A-Za-z0-9]", lambda found: f"_{ord(found[0]):x}", method)


def wrapped(name: str) -> str:
    """A bonus expression with line breaks where a line would be too long.

    They stand before operators, after commas and before the first of several nested bonuses.
    """
    built: list[str] = []
    for part in re.split(r"(?<= )(?=[*+] )|(?<=, )|(?<=\()(?=(?:\w+=)?[\w.]+\()", name):
        if built and len(built[-1] + part.rstrip()) <= LONGEST_LINE:
            built[-1] += part
        else:
            built.append(part)
    return "\n".join(map(str.rstrip, built))


def most_lines(names: Iterable[str]) -> int:
    """The lines of the name that takes most of them."""
    return max((wrapped(name).count("\n") + 1 for name in names), default=0)


def text_inches(texts: Iterable[str], points: float) -> float:
    """Approximate width of the longest line of some texts."""
    return max((len(line) for text in texts for line in text.split("\n")), default=0) * LETTER_EMS * points / 72


def _for_the_page(svg: str, prefix: str, summary: str, colours: Mapping[str, str]) -> str:
    box = re.search(r'viewBox="[^"]*"', svg)
    assert box is not None
    svg = svg[svg.index("<svg") :].strip()
    for pattern, text in (
        (r"(?s)<(metadata|style)\b.*?</\1>|<!--.*?-->", ""),  # Matplotlib's style sheet would apply to the whole page
        (r'<g id="[^"]*"', "<g"),
        (r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}-"),
        (r"font-family: [^;\"]*;? ?", ""),
        # Half of the rest is rotations by zero, space, and digits beyond the second decimal.
        (r' transform="rotate\(-0 [^"]*"', ""),
        (r">\s+<", "><"),
        ("\n", ""),
    ):
        svg = re.sub(pattern, text, svg)
    svg = re.sub(r"<[^>]+>", lambda tag: re.sub(r"(\d\.\d\d)\d+", r"\1", tag[0]), svg)  # never in what is read
    svg = re.sub(r"#[0-9a-f]{6}\b", lambda found: colours.get(found[0], found[0]), svg)
    opening = f'<svg {box[0]} role="img" aria-label="{html.escape(summary, quote=True)}">'
    return re.sub(r"<svg[^>]*>", lambda _: opening, svg, count=1)


def short_number(value: float, _: int | None = None) -> str:
    """1.5M for 1,500,000 and 20k for 20,000; the second argument is Matplotlib's."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"

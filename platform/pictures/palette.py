"""Colours of bonuses, the same on the board, in reports and in figures; colour-blind safe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SCOPE_COLOURS = {"none": "#7f7f7f", "global": "#0072b2", "episodic": "#e69f00", "combined": "#009e73"}
"""One colour per scope, in the order in which scopes are listed."""
DASHES: tuple[tuple[float, ...], ...] = ((), (5, 2), (1.5, 1.5), (6, 1.5, 1.5, 1.5), (9, 2.5), (3, 1.5, 1, 1.5, 1, 1.5))
"""Bonuses of one scope differ by dash: lengths of pen down and pen up in line widths; () is a solid line."""
MARKERS = ("o", "s", "^", "D", "v", "P")
"""And by marker, in Matplotlib's notation."""
_SHADES = (0.0, -0.35, 0.3, -0.55, 0.5, -0.15)
"""And by shade: the share of black (below 0) or white mixed into the scope's colour."""
_SHADES_ON_DARK = (0.15, 0.55, -0.15, 0.75, 0.35, 0.0)


@dataclass(frozen=True)
class SeriesStyle:
    """How one bonus is drawn."""

    colour: str
    dark_colour: str
    """The same on a dark background."""
    dash: tuple[float, ...]
    marker: str


def bonus_styles(scopes: Mapping[str, str]) -> dict[str, SeriesStyle]:
    """The style of every bonus, given its scope; ordered by scope, within a scope as given."""
    known = list(SCOPE_COLOURS)
    order = sorted(scopes, key=lambda bonus: known.index(scopes[bonus]) if scopes[bonus] in known else len(known))
    styles: dict[str, SeriesStyle] = {}
    met: dict[str, int] = {}
    for bonus in order:
        scope = scopes[bonus]
        number = met[scope] = met.get(scope, -1) + 1
        colour = SCOPE_COLOURS.get(scope, SCOPE_COLOURS["none"])
        turn = number % len(DASHES)
        styles[bonus] = SeriesStyle(
            mixed(colour, _SHADES[turn]), mixed(colour, _SHADES_ON_DARK[turn]), DASHES[turn], MARKERS[turn]
        )
    return styles


def mixed(colour: str, share: float) -> str:
    """`#rrggbb` mixed with a share of white, or of black if the share is below 0."""
    towards = 255 if share > 0 else 0
    parts = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return "#" + "".join(f"{round(part + (towards - part) * abs(share)):02x}" for part in parts)

"""Colours of bonuses for the board, reports and figures; colour-blind safe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

SCOPE_COLOURS = {"none": "#7f7f7f", "global": "#0072b2", "episodic": "#e69f00", "combined": "#009e73"}
"""One colour per scope, in display order."""
DASHES: tuple[tuple[float, ...], ...] = ((), (5, 2), (1.5, 1.5), (6, 1.5, 1.5, 1.5), (9, 2.5), (3, 1.5, 1, 1.5, 1, 1.5))
"""Bonuses of one scope differ by dash pattern: lengths on and off in line widths; () is solid."""
MARKERS = ("o", "s", "^", "D", "v", "P")
"""And by Matplotlib marker."""
_SHADES = (0.0, -0.35, 0.3, -0.55, 0.5, -0.15)
"""And by shade: the fraction of white, or of black if negative, mixed into the scope's colour."""
_SHADES_ON_DARK = (0.15, 0.55, -0.15, 0.75, 0.35, 0.0)


@dataclass(frozen=True)
class SeriesStyle:
    """How one bonus is drawn."""

    colour: str
    dark_colour: str
    """On a dark background."""
    dash: tuple[float, ...]
    marker: str


def bonus_styles(scopes: Mapping[str, str]) -> dict[str, SeriesStyle]:
    """The style of every bonus, given its scope; sorted by scope, otherwise in the given order."""
    known = list(SCOPE_COLOURS)
    order = sorted(scopes, key=lambda bonus: known.index(scopes[bonus]) if scopes[bonus] in known else len(known))
    styles: dict[str, SeriesStyle] = {}
    used = Counter[str]()
    for bonus in order:
        scope = scopes[bonus]
        colour = SCOPE_COLOURS.get(scope, SCOPE_COLOURS["none"])
        turn = used[scope] % len(DASHES)
        used[scope] += 1
        styles[bonus] = SeriesStyle(
            mixed(colour, _SHADES[turn]), mixed(colour, _SHADES_ON_DARK[turn]), DASHES[turn], MARKERS[turn]
        )
    return styles


def mixed(colour: str, fraction: float) -> str:
    """`#rrggbb` mixed with a fraction of white, or of black if negative."""
    towards = 255 if fraction > 0 else 0
    parts = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return "#" + "".join(f"{round(part + (towards - part) * abs(fraction)):02x}" for part in parts)

"""One colour language of bonuses for the board, reports, videos, MLflow and the terminal; colour-blind safe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

ADAPTIVE = "adaptive"
"""Shown as a scope of its own: a bonus that chooses between scopes while it trains."""
SCOPE_COLOURS = {
    "none": "#7f7f7f",
    "global": "#0072b2",
    "episodic": "#e69f00",
    "combined": "#009e73",
    ADAPTIVE: "#cc79a7",
}
"""One colour per scope (Okabe and Ito's), in display order."""
ANSI_COLOURS = {"none": "37", "global": "34", "episodic": "33", "combined": "32", ADAPTIVE: "35"}
"""The nearest colours of a terminal."""
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


def shown_scope(bonus: str, scope: str) -> str:
    """The scope that a bonus is drawn and listed by."""
    return ADAPTIVE if f"{ADAPTIVE}(" in bonus else scope


def scope_rgb(scope: str) -> tuple[int, int, int]:
    """A scope's colour on a dark background, as in videos."""
    colour = mixed(SCOPE_COLOURS.get(scope, SCOPE_COLOURS["none"]), _SHADES_ON_DARK[0])
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def bonus_styles(scopes: Mapping[str, str]) -> dict[str, SeriesStyle]:
    """The style of every bonus, given its scope; sorted by scope, otherwise in the given order."""
    known = list(SCOPE_COLOURS)
    scopes = {bonus: shown_scope(bonus, scope) for bonus, scope in scopes.items()}
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

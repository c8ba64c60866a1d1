"""Colours of bonuses."""

from __future__ import annotations

import numpy as np

from bonuslab.platform.pictures import bonus_plot
from bonuslab.platform.pictures.bonus_plot import BonusSeries
from bonuslab.platform.pictures.palette import ANSI_COLOURS, SCOPE_COLOURS, bonus_styles, mixed, scope_rgb


def test_first_bonus_of_a_scope_has_its_colour_and_all_look_different() -> None:
    scopes = {"e3b * rnd": "combined", "e3b": "episodic", "e3b + rnd": "combined", "none": "none", "rnd": "global"}
    styles = bonus_styles(scopes)
    assert list(styles) == ["none", "rnd", "e3b", "e3b * rnd", "e3b + rnd"]
    assert styles["e3b * rnd"].colour == SCOPE_COLOURS["combined"]
    assert len({style.colour for style in styles.values()}) == 5
    assert styles["e3b * rnd"].dash != styles["e3b + rnd"].dash


def test_many_bonuses_and_unknown_scopes_have_a_style() -> None:
    assert len(bonus_styles({f"bonus {number}": "combined" for number in range(20)})) == 20
    assert bonus_styles({"mine": "other"})["mine"].colour == SCOPE_COLOURS["none"]


def test_mixing() -> None:
    assert mixed("#0072b2", 0.0) == "#0072b2"
    assert mixed("#0072b2", 1.0) == "#ffffff"
    assert mixed("#0072b2", -1.0) == "#000000"
    assert mixed("#204060", -0.5) == "#102030"


def test_adaptive_bonuses_have_a_colour_of_their_own() -> None:
    styles = bonus_styles({"adaptive(e3b, rnd)": "combined", "e3b * rnd": "combined"})
    assert list(styles) == ["e3b * rnd", "adaptive(e3b, rnd)"]
    assert styles["adaptive(e3b, rnd)"].colour == SCOPE_COLOURS["adaptive"]
    assert set(ANSI_COLOURS) == set(SCOPE_COLOURS)


def test_videos_and_the_terminal_use_the_scopes_colours() -> None:
    series = [BonusSeries(scope, scope, np.ones(4), scope) for scope in ("episodic", "global")]
    pixels = bonus_plot.panel(series, 3, 200).reshape(-1, 3)
    for scope, absent in (("episodic", False), ("global", False), ("combined", True)):
        assert (pixels == scope_rgb(scope)).all(-1).any() != absent
    lines = bonus_plot.text_lines(series, 3, 80, colour=True)
    assert [f"\033[{ANSI_COLOURS[one.scope]}m" in line for one, line in zip(series, lines, strict=True)] == [True, True]

"""Colours of bonuses."""

from __future__ import annotations

from bonuslab.platform.pictures.palette import SCOPE_COLOURS, bonus_styles, mixed


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

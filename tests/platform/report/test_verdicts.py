"""Sentences that answer a grid's question."""

from __future__ import annotations

from bonuslab.platform.report.statistics import Estimate
from bonuslab.platform.report.verdicts import verdicts

SCOPES = {"none": "none", "rnd": "global", "noveld": "global", "e3b": "episodic", "e3b * rnd": "combined"}


def sure(value: float) -> Estimate:
    return Estimate(value, value - 0.01, value + 0.01)


def sentences(results: dict[str, dict[str, Estimate]], lower_is_better: bool = False) -> list[str]:
    scopes = {name: SCOPES[name] for name in next(iter(results.values()))}
    return [f"{one.left} {one.text} {one.right} {one.rest}" for one in verdicts(results, scopes, lower_is_better)]


def test_the_leader_against_the_best_of_each_scope() -> None:
    values = {"none": 0.0, "rnd": 0.2, "noveld": 0.4, "e3b": 0.6, "e3b * rnd": 0.9}
    results = {task: {name: sure(value) for name, value in values.items()} for task in "AB"}
    assert sentences(results) == [
        "e3b * rnd beats e3b on 2 of 2 tasks (0.90 against 0.60, mean over tasks); intervals do not overlap",
        "e3b * rnd beats noveld on 2 of 2 tasks (0.90 against 0.40, mean over tasks); intervals do not overlap",
        "e3b * rnd beats none on 2 of 2 tasks (0.90 against 0.00, mean over tasks); intervals do not overlap",
    ]
    assert sentences(results, lower_is_better=True)[0].startswith("none beats rnd on 2 of 2 tasks")


def test_a_verdict_is_careful_where_intervals_overlap_or_are_missing() -> None:
    wide = {"rnd": Estimate(0.4, 0.1, 0.7), "e3b": Estimate(0.5, 0.2, 0.8)}
    assert sentences({"A": wide}) == ["e3b is ahead of rnd (0.50 against 0.40); intervals overlap"]
    split = {"A": {"rnd": sure(0.1), "e3b": sure(0.9)}, "B": {"rnd": sure(0.5), "e3b": sure(0.2)}}
    (text,) = sentences(split)
    assert text.startswith("e3b is ahead of rnd on 1 of 2 tasks (0.55 against 0.30, mean over tasks); ")
    assert text.endswith("intervals do not overlap there")
    few = {"rnd": Estimate(0.1, None, None), "e3b": Estimate(1.0, None, None)}
    assert sentences({"A": few})[0].endswith("no intervals with fewer than 3 runs")


def test_equal_bonuses_and_one_bonus() -> None:
    assert sentences({"A": {"none": sure(0.0), "rnd": sure(0.0)}}) == ["none and rnd do not differ (0.00 against 0.00)"]
    assert sentences({"A": {"none": sure(0.0)}}) == []

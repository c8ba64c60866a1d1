"""Aggregates against sorts and loops, and against rliable."""

from __future__ import annotations

import numpy as np
import pytest

from bonuslab.platform.report import statistics
from bonuslab.platform.report.statistics import (
    Estimate,
    aggregates,
    interval_of_mean,
    iqm,
    mean,
    median,
    probability_of_improvement,
    profile,
)
from bonuslab.platform.report.tables import interval


def uneven(seed: int = 0) -> dict[str, np.ndarray]:
    """Tasks with different numbers of runs, as a grid with failures has."""
    random = np.random.default_rng(seed)
    return {f"task {number}": random.random(runs) for number, runs in enumerate((5, 3, 4, 5, 1))}


def strata(scores: dict[str, np.ndarray]) -> dict[str, list[np.ndarray]]:
    return {task: [runs] for task, runs in scores.items()}


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 7, 16, 80])
def test_iqm_is_the_mean_of_the_middle_of_the_sorted_runs(number: int) -> None:
    runs = np.random.default_rng(number).normal(size=number)
    kept = sorted(runs)[number // 4 : number - number // 4]
    assert iqm([runs[None, : number // 2], runs[None, number // 2 :]])[0] == pytest.approx(sum(kept) / len(kept))


def test_median_and_mean_are_over_task_means() -> None:
    scores = uneven()
    of_tasks = sorted(sum(runs) / len(runs) for runs in scores.values())
    here = [runs[None] for runs in scores.values()]
    assert median(here)[0] == pytest.approx(of_tasks[2])
    assert mean(here)[0] == pytest.approx(sum(of_tasks) / 5)


def test_estimates_and_intervals_agree_with_rliable() -> None:
    from rliable import library, metrics

    matrix = np.random.default_rng(3).beta(2, 1, size=(5, 8))  # [runs, tasks]
    ours = aggregates("e3b", {str(task): [matrix[:, task]] for task in range(8)})
    functions = {
        "median": metrics.aggregate_median,
        "IQM": metrics.aggregate_iqm,
        "mean": metrics.aggregate_mean,
    }
    # rliable draws from numpy's global numbers, whatever generator it is given.
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(0)  # noqa: NPY002
    try:
        values, ends = library.get_interval_estimates(
            {"e3b": matrix}, lambda runs: np.array([function(runs) for function in functions.values()]), reps=1500
        )
    finally:
        np.random.set_state(state)  # noqa: NPY002
    for place, kind in enumerate(functions):
        assert ours[kind].value == pytest.approx(values["e3b"][place])
        assert (ours[kind].low, ours[kind].high) == pytest.approx(ends["e3b"][:, place], abs=0.015)


def test_profile_and_improvement_agree_with_rliable() -> None:
    from rliable import library, metrics

    random = np.random.default_rng(4)
    first, second = random.random((5, 6)).round(1), random.random((4, 6)).round(1)  # rounded: some are equal
    ours = probability_of_improvement(
        ("a", "b"), {str(task): first[:, task] for task in range(6)}, {str(task): second[:, task] for task in range(6)}
    )
    assert ours.value == pytest.approx(metrics.probability_of_improvement(first, second))
    thresholds = np.linspace(0, 1, 11)
    shares = profile("a", {str(task): first[:, task] for task in range(6)}, thresholds)
    assert shares[0] == pytest.approx(library.score_distributions(first, thresholds))


def test_improvement_counts_pairs_and_half_of_ties() -> None:
    first, second = {"t": np.array([1.0, 2.0, 3.0])}, {"t": np.array([2.0, 0.0])}
    pairs = [1.0 if x > y else 0.5 if x == y else 0.0 for x in first["t"] for y in second["t"]]
    assert probability_of_improvement(("a", "b"), first, second).value == pytest.approx(sum(pairs) / 6)


def test_resampling_keeps_every_task_and_its_number_of_runs() -> None:
    # Tasks 100 apart: a resample that mixed them, or weighted them by their runs, would have other means.
    scores = {str(task): np.arange(runs) + 100.0 * task for task, runs in enumerate((5, 2, 3))}
    drawn = statistics._resampled("e3b", strata(scores), 500)
    for task, runs in enumerate(drawn):
        assert runs.shape == (500, len(scores[str(task)]))
        assert set(np.unique(runs)) == set(scores[str(task)])
        assert runs.mean() == pytest.approx(scores[str(task)].mean(), abs=0.2)


def test_groups_of_one_task_are_resampled_separately() -> None:
    drawn = statistics._resampled("global", {"t": [np.zeros(3), np.ones(4)]}, 50)[0]
    assert drawn.sum(axis=1) == pytest.approx(np.full(50, 4.0))


def test_intervals_are_deterministic_and_independent_of_other_methods() -> None:
    assert aggregates("e3b", strata(uneven())) == aggregates("e3b", strata(uneven()))
    assert aggregates("e3b", strata(uneven()))["IQM"].low != aggregates("rnd", strata(uneven()))["IQM"].low


def test_one_run_per_task_has_no_interval() -> None:
    estimate = aggregates("e3b", {"a": [np.array([0.5])], "b": [np.array([0.7])]})["mean"]
    assert (estimate.value, estimate.low, estimate.high) == (pytest.approx(0.6), None, None)
    assert not estimate.is_away_from(0.5)


def test_interval_has_about_its_nominal_coverage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "RESAMPLES", 500)
    random = np.random.default_rng(1)
    hits = 0
    for number in range(60):
        runs = {str(task): [random.normal(0.5, 0.1, size=20)] for task in range(3)}
        estimate = aggregates(str(number), runs)["mean"]
        hits += estimate.low <= 0.5 <= estimate.high  # type: ignore[operator]
    assert 50 <= hits <= 60


def test_two_runs_have_no_interval() -> None:
    """Two equal runs would have one of width zero, as if nothing could vary."""
    two, three = (aggregates("e3b", {"a": [np.ones(number)]})["mean"] for number in (2, 3))
    assert (two.value, two.low) == (1.0, None)
    assert (three.low, three.high) == (1.0, 1.0)
    assert interval(three) == "no spread"
    assert interval(two) == ""


def test_band_of_a_curve_agrees_with_resampling_by_hand() -> None:
    values = np.random.default_rng(0).random((5, 3))
    values[4, 2] = np.nan
    low, high = interval_of_mean(values)
    random = np.random.default_rng(1)
    for column in range(3):
        seeds = values[:, column][np.isfinite(values[:, column])]
        means = [random.choice(seeds, len(seeds)).mean() for _ in range(5_000)]
        assert (low[column], high[column]) == pytest.approx(np.quantile(means, [0.025, 0.975]), abs=0.06)
        assert seeds.min() <= low[column] <= high[column] <= seeds.max()
    assert np.isnan(interval_of_mean(np.full((3, 1), np.nan))).all()


def test_intervals_overlap_or_not() -> None:
    assert Estimate(0.5, 0.4, 0.6).overlaps(Estimate(0.7, 0.6, 0.8))
    assert not Estimate(0.5, 0.4, 0.6).overlaps(Estimate(0.8, 0.7, 0.9))
    assert Estimate(0.5, None, None).overlaps(Estimate(0.8, 0.7, 0.9)), "unknown is not apart"

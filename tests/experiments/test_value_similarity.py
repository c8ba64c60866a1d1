"""Average cosine similarity against its definition, and its intervals."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from bonuslab.envs.errors import InvalidInput
from bonuslab.experiments.value_functions.similarity import (
    average_of_distinct,
    cosines,
    similarities,
    with_repeats,
)


def literal_cosine(first: np.ndarray, second: np.ndarray) -> float:
    dot = sum(float(a) * float(b) for a, b in zip(first, second, strict=True))
    norms = [math.sqrt(sum(float(a) ** 2 for a in one)) for one in (first, second)]
    return dot / (norms[0] * norms[1])


@pytest.fixture
def values() -> np.ndarray:
    return np.random.default_rng(2).random((9, 30)) ** 4


def test_average_over_distinct_contexts(values: np.ndarray) -> None:
    pairs = [literal_cosine(values[i], values[j]) for i, j in itertools.permutations(range(9), 2)]
    assert similarities(values, (None,))[0].value == pytest.approx(np.mean(pairs), rel=1e-12)


def test_finitely_many_contexts_repeat(values: np.ndarray) -> None:
    """The mean over all sets of k contexts, and over all pairs within each, a context with itself included."""
    for count in (1, 2, 3, 5):
        sets = [
            np.mean([literal_cosine(values[i], values[j]) for i in one for j in one])
            for one in itertools.combinations(range(9), count)
        ]
        assert similarities(values, (count,))[0].value == pytest.approx(np.mean(sets), rel=1e-12)


def test_weights_are_repetitions(values: np.ndarray) -> None:
    """A context taken twice counts twice, but makes no pair with itself."""
    taken = [0, 0, 3, 5, 5, 5]
    weights = np.bincount(taken, minlength=9).astype(float)[None]
    pairs = [literal_cosine(values[i], values[j]) for i in taken for j in taken if i != j]
    assert average_of_distinct(cosines(values), weights)[0] == pytest.approx(np.mean(pairs), rel=1e-12)


def test_the_papers_finite_numbers_follow_from_its_infinite_one() -> None:
    assert [round(with_repeats(0.198, count), 3) for count in (1, 3, 5, 10, None)] == [1.0, 0.465, 0.358, 0.278, 0.198]


def test_intervals(values: np.ndarray) -> None:
    one, three, unlimited = similarities(values, (1, 3, None))
    assert (one.value, one.low, one.high, one.runs) == (1, 1, 1, None)
    assert unlimited.runs is None
    assert similarities(values, (5,))[0].runs is None  # nine contexts tell nothing of sets of five
    assert unlimited.low < unlimited.value < unlimited.high
    assert three.runs is not None
    assert three.runs[0] < three.low < three.value < three.high < three.runs[1]
    more = similarities(np.random.default_rng(3).random((200, 30)) ** 4, (None,))[0]
    assert more.high - more.low < unlimited.high - unlimited.low
    assert similarities(values, (None,), seed=4) == similarities(values, (None,), seed=4)
    same = similarities(np.repeat(values[:1], 5, axis=0), (None,))[0]
    assert (same.value, same.low) == pytest.approx((1, 1))


def test_the_interval_covers_the_truth() -> None:
    """Value functions whose expected similarity is known from very many of them."""
    random = np.random.default_rng(0)
    truth = similarities(random.random((1500, 12)) ** 4, (None,), resamples=50)[0].value
    found = [similarities(random.random((60, 12)) ** 4, (None,), resamples=300)[0] for _ in range(60)]
    assert sum(one.low <= truth <= one.high for one in found) >= 51  # 95 % would be 57


def test_the_range_of_single_runs_is_that_of_all_contexts() -> None:
    """Sets of ten from very many contexts, against what 40 of them say about such sets."""
    random = np.random.default_rng(1)
    true = similarities(random.random((1500, 12)) ** 4, (10,))[0].runs
    found = [similarities(random.random((40, 12)) ** 4, (10,), resamples=2)[0].runs for _ in range(20)]
    assert true is not None
    widths = [high - low for low, high in filter(None, found)]
    assert np.mean(widths) == pytest.approx(true[1] - true[0], rel=0.1)


def test_what_cannot_be_compared() -> None:
    with pytest.raises(InvalidInput, match="zero everywhere"):
        similarities(np.zeros((4, 3)), (None,))
    with pytest.raises(InvalidInput, match="at least 3"):
        similarities(np.ones((2, 3)), (None,))

"""How much structure contexts share: the average cosine similarity of their value functions (the paper's appendix).

    E_{c,c' ~ μ} [ <V_c, V_c'> / (|V_c| |V_c'|) ]

Both contexts are drawn independently. With infinitely many they are never the same; with |C| = k they are the same with
probability 1/k and then have similarity 1, so the expectation over sets of k contexts is 1/k + (1 − 1/k) s_∞.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from bonuslab.envs.errors import InvalidInput

CONFIDENCE: Final = 0.95
RESAMPLES: Final = 2000
_ENDS: Final = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)


@dataclass(frozen=True)
class Similarity:
    """The average cosine similarity of a task with some number of contexts."""

    contexts: int | None
    """|C|; None for infinitely many."""
    value: float
    low: float
    high: float
    """95 % bootstrap interval of `value`, resampling contexts."""
    runs: tuple[float, float] | None
    """95 % range of single runs, each with its own set of contexts; None if all are equal (one context, or infinitely
    many), or if too few contexts were sampled."""


def cosines(values: np.ndarray) -> np.ndarray:
    """[n, n] cosine similarities of value functions [n, |Z|], none of them zero everywhere."""
    norms = np.linalg.norm(values, axis=1, keepdims=True)
    if not norms.all():
        raise InvalidInput("a value function that is zero everywhere has no cosine similarity")
    units = values / norms
    return units @ units.T


def average_of_distinct(gram: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """[R]: the mean over pairs of different contexts, each context weighted by `weights` [R, n]."""
    own = np.diagonal(gram)
    pairs = ((weights @ gram) * weights).sum(axis=1) - (weights**2 * own).sum(axis=1)
    return pairs / (weights.sum(axis=1) ** 2 - (weights**2).sum(axis=1))


def similarities(
    values: np.ndarray, counts: tuple[int | None, ...], seed: int = 0, resamples: int = RESAMPLES
) -> list[Similarity]:
    """The similarity for each number of contexts, from the value functions [n, |Z|] of n sampled contexts."""
    gram, num = cosines(values), len(values)
    if num < 3:
        raise InvalidInput(f"only {num} contexts have value functions; comparing needs at least 3")
    random = np.random.default_rng(seed)
    drawn = random.multinomial(num, np.full(num, 1 / num), size=resamples).astype(float)
    drawn = drawn[(drawn > 0).sum(axis=1) > 1]  # one context alone has no pairs
    unlimited = float(average_of_distinct(gram, np.ones((1, num)))[0])
    low, high = np.quantile(average_of_distinct(gram, drawn), _ENDS)
    found = []
    for count in counts:
        value, low_end, high_end = (with_repeats(end, count) for end in (unlimited, float(low), float(high)))
        found.append(Similarity(count, value, low_end, high_end, _single_runs(gram, count, value, random)))
    return found


def with_repeats(unlimited: float, count: int | None) -> float:
    """The expectation with `count` contexts, given the one with infinitely many."""
    return unlimited if count is None else 1 / count + (1 - 1 / count) * unlimited


def _single_runs(
    gram: np.ndarray, count: int | None, value: float, random: np.random.Generator
) -> tuple[float, float] | None:
    """The 95 % range of the similarities of single sets of contexts, around their mean `value`."""
    num = len(gram)
    if count is None or count == 1 or 2 * count > num:
        return None
    sets = [random.choice(num, count, replace=False) for _ in range(RESAMPLES)]
    low, high = np.quantile([gram[np.ix_(one, one)].mean() for one in sets], _ENDS)
    # Sets drawn from a small sample overlap and vary less than sets of all contexts: finite population correction.
    widen = (1 - count / num) ** -0.5
    return value + widen * (float(low) - value), value + widen * (float(high) - value)

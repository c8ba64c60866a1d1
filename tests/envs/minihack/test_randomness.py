"""Seeds and random numbers: fixed, unbiased, and the same in Python and compiled code."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.minihack.levels import chain
from bonuslab.envs.minihack.randomness import CONTEXT_LIMIT, Purpose, Stream, context_seed, splitmix64

SEEDS_OF_CONTEXT_7 = [0xB8B4C2977EABCE45, 0xA65305FD338EC8FE, 0x8CA3CBB6CA63129B]


def test_the_stream_is_splitmix64() -> None:
    """The first outputs of the published generator, seeded with 0: the top 31 of 64 bits."""
    published = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC]
    stream = Stream(0)
    assert [stream.below(2**31) for _ in published] == [value >> 33 for value in published]


def test_seeds_never_change() -> None:
    assert [context_seed(7, purpose) for purpose in Purpose] == SEEDS_OF_CONTEXT_7
    assert splitmix64(7, salt=2) == SEEDS_OF_CONTEXT_7[Purpose.GAME_DISPLAY]


def test_seeds_of_neighbours_are_distinct_and_balanced() -> None:
    seeds = [context_seed(context, purpose) for context in range(5000) for purpose in Purpose]
    assert len(set(seeds)) == len(seeds)
    bits = np.unpackbits(np.array(seeds, np.uint64).view(np.uint8)).reshape(len(seeds), 64)
    deviations = (bits.mean(axis=0) - 0.5) * 2 * len(seeds) ** 0.5
    assert np.abs(deviations).max() < 4.5


@pytest.mark.parametrize("context", [-1, CONTEXT_LIMIT])
def test_a_context_out_of_range_is_rejected(context: int) -> None:
    with pytest.raises(InvalidInput, match=f"context id {context} cannot be used"):
        context_seed(context, Purpose.LEVEL)
    assert context_seed(CONTEXT_LIMIT - 1, Purpose.LEVEL) < 2**64


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 23])
def test_below_is_uniform(bound: int) -> None:
    stream = Stream(bound)
    counts = Counter(stream.below(bound) for _ in range(20_000))
    assert set(counts) == set(range(bound))
    assert bound == 1 or stats.chisquare(list(counts.values())).pvalue > 1e-3


def test_below_rejects_biased_draws() -> None:
    """With a bound of 3 * 2**30, a quarter of all 32-bit words must be redrawn."""
    bound, draws = 3 * 2**30, 4000
    stream = Stream(1)
    values = np.array([stream.below(bound) for _ in range(draws)])
    assert stats.kstest(values / bound, "uniform").pvalue > 1e-3
    assert stats.chisquare(np.bincount(values % 3, minlength=3)).pvalue > 1e-3


def test_shuffle_is_uniform() -> None:
    stream = Stream(5)
    orders: Counter[tuple[int, ...]] = Counter()
    for _ in range(12_000):
        items = [0, 1, 2, 3]
        stream.shuffle(items)
        orders[tuple(items)] += 1
    assert set(orders) == set(permutations(range(4)))
    assert stats.chisquare(list(orders.values())).pvalue > 1e-3


def test_the_compiled_stream_gives_the_same_numbers() -> None:
    seed = context_seed(123, Purpose.LEVEL)
    state, stream = np.array([seed], np.uint64), Stream(seed)
    bounds = [1, 2, 3, 7, 23, 2**20 + 1, 3 * 2**30, 2**32 - 1] * 200
    assert [chain.below(state, bound) for bound in bounds] == [stream.below(bound) for bound in bounds]

"""The count table equals a dictionary whatever the keys, the batches, and where it is saved and restored."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bonuslab.algorithms.bonuses.memory.count_table import SMALLEST, CountTable

# Few distinct keys, so that they repeat; and multiples of the capacity, which a weak hash would put into one slot.
KEYS = st.one_of(
    st.integers(0, 5),
    st.integers(0, 2**64 - 1),
    st.integers(0, 200).map(lambda key: key * SMALLEST * 2**40 % 2**64),
    st.just(2**64 - 1),
)


@settings(max_examples=200)
@given(st.lists(st.tuples(st.lists(KEYS, max_size=120), st.booleans()), max_size=6))
def test_counts_like_a_dictionary(batches: list[tuple[list[int], bool]]) -> None:
    table, seen = CountTable(), Counter[int]()
    for keys, restored in batches:
        expected = []
        for key in keys:
            seen[key] += 1
            expected.append(seen[key])
        assert table.count(np.array(keys, np.uint64)).tolist() == expected
        if restored:
            table = CountTable.from_state(table.state_dict())
        state = table.state_dict()
        assert dict(zip(state["keys"].tolist(), state["counts"].tolist(), strict=True)) == seen
        assert len(table) == len(seen) <= 5 / 8 * len(table.table) + 1

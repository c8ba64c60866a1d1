"""The count table equals a dictionary for any keys and batch sizes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from bonuslab.algorithms.bonuses.memory.count_table import CountTable
from bonuslab.algorithms.bonuses.memory.hashing import chain, hash_rows, hash_texts, pair_keys

LARGEST = 2**64 - 1


def _counted(keys: np.ndarray) -> tuple[list[int], Counter[int]]:
    seen: Counter[int] = Counter()
    counts = []
    for key in keys.tolist():
        seen[key] += 1
        counts.append(seen[key])
    return counts, seen


def _contents(table: CountTable) -> dict[int, int]:
    state = table.state_dict()
    assert len(state["keys"]) == len(table)
    return dict(zip(state["keys"].tolist(), state["counts"].tolist(), strict=True))


@pytest.mark.parametrize("batch", [1, 7, 1000, 30_000])
def test_counts_in_order_like_a_dictionary(batch: int) -> None:
    rng = np.random.default_rng(batch)
    few = rng.integers(0, 2**64, size=4000, dtype=np.uint64)
    few[:3] = 0, 1, LARGEST
    keys = rng.choice(few, size=30_000)
    expected, seen = _counted(keys)
    table = CountTable()
    counts = np.concatenate([table.count(keys[start : start + batch]) for start in range(0, len(keys), batch)])
    assert counts.tolist() == expected
    assert _contents(table) == seen


def test_the_smallest_and_largest_keys_are_valid() -> None:
    table = CountTable()
    keys = np.array([0, LARGEST, 0, 0, LARGEST], np.uint64)
    assert table.count(keys).tolist() == [1, 1, 2, 3, 2]
    assert _contents(table) == {0: 3, LARGEST: 2}
    assert len(table) == 2


def test_keys_in_arithmetic_progression_do_not_cluster() -> None:
    table = CountTable()
    keys = np.arange(100_000, dtype=np.uint64) << np.uint64(40)
    assert (table.count(keys) == 1).all()
    assert (table.count(keys[::-1].copy()) == 2).all()
    assert len(table) == 100_000
    assert table.table.nbytes <= 16 * 262_144


def test_state_is_compact_and_exact() -> None:
    rng = np.random.default_rng(3)
    keys = rng.integers(0, 500, size=20_000).astype(np.uint64)
    table = CountTable()
    table.count(keys)
    state = table.state_dict()
    assert state["keys"].nbytes == state["counts"].nbytes == 8 * len(table)
    copy = CountTable.from_state(state)
    assert _contents(copy) == _contents(table)
    table.count(keys[:50])
    assert _contents(copy) != _contents(table), "a saved state must not follow its table"
    copy.count(keys[:50])
    more = rng.integers(0, 1000, size=5000).astype(np.uint64)
    assert copy.count(more).tolist() == table.count(more).tolist()


def test_an_empty_table_round_trips() -> None:
    assert len(CountTable.from_state(CountTable().state_dict())) == 0


def test_memory_of_ten_million_keys_is_bounded() -> None:
    table = CountTable()
    table.count(np.arange(700_000, dtype=np.uint64))
    per_key = table.table.nbytes / len(table)
    # Doubling at 5/8 full: 25.6 to 51.2 bytes per key, and half as much again while it doubles.
    assert per_key <= 51.3
    assert 1.5 * 51.3 * 10_000_000 < 1.5e9


def test_every_byte_of_a_row_matters() -> None:
    rng = np.random.default_rng(0)
    row = rng.integers(0, 5976, size=(21, 79)).astype(np.int16)
    rows = np.repeat(row[None], 1 + 21 * 79, axis=0)
    for cell in range(21 * 79):
        rows[1 + cell].reshape(-1)[cell] += 1
    assert len(np.unique(hash_rows(rows))) == len(rows)


def test_a_hundred_thousand_similar_rows_do_not_collide() -> None:
    rows = np.zeros((100_000, 21, 79), np.int16)
    rows[:, 3, 5] = np.arange(100_000) % 1000
    rows[:, 20, 78] = np.arange(100_000) // 1000
    assert len(np.unique(hash_rows(rows))) == 100_000


def test_output_bits_are_balanced() -> None:
    keys = hash_rows(np.arange(20_000, dtype=np.int64)[:, None])
    bits = (keys[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 0.02


def test_hashes_do_not_depend_on_memory_layout() -> None:
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 9, size=(6, 4, 5))
    apart = np.asfortranarray(rows)
    frozen = rows.copy()
    frozen.flags.writeable = False
    assert (hash_rows(rows) == hash_rows(apart)).all()
    assert (hash_rows(rows) == hash_rows(frozen)).all()
    assert hash_rows(rows[:0]).shape == (0,)
    assert (hash_rows(np.array([[0.0]])) == hash_rows(np.array([[-0.0]]))).all()


def test_texts_end_at_zero_and_blank_texts_are_equal() -> None:
    def text(value: bytes) -> np.ndarray:
        return np.frombuffer(value.ljust(256, b"\0"), np.uint8)

    blank = [text(b""), text(b" "), text(b" " * 256), text(b"\0left over from before")]
    assert len(np.unique(hash_texts(np.stack(blank)))) == 1
    doors = [text(b"The door opens."), text(b"The door opens. "), text(b"The door opens.\0or not")]
    assert len(np.unique(hash_texts(np.stack(doors)))) == 1
    different = [text(b"a" * length) for length in range(257)] + [text(b" a"), text(b"b")]
    assert len(np.unique(hash_texts(np.stack(different)))) == len(different)


def test_pairs_have_unique_ordered_keys() -> None:
    x, y = np.meshgrid(np.arange(-40, 80), np.arange(-30, 40))
    assert len(np.unique(pair_keys(x.ravel(), y.ravel()))) == x.size
    keys = np.arange(2000, dtype=np.uint64)
    pairs = chain(keys[:, None], keys[None, :200])
    assert len(np.unique(pairs)) == pairs.size

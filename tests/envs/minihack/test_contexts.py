"""The sequence of contexts: reproducible, uniform, and disjoint from the held-out ones."""

from __future__ import annotations

import pickle
from collections import Counter

import pytest

from bonuslab.envs.contexts import parse_count
from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.minihack import MiniHackContexts
from bonuslab.envs.minihack.randomness import check_context

HALF = 2**47


def _draws(contexts: MiniHackContexts, number: int = 50) -> list[int]:
    return [contexts.draw() for _ in range(number)]


def test_finite_contexts_are_the_same_in_every_stream() -> None:
    sets = {MiniHackContexts(5, seed=3, stream=stream).ids for stream in range(10)}
    assert len(sets) == 1
    (ids,) = sets
    assert ids is not None
    assert len(set(ids)) == 5


def test_streams_draw_them_in_different_orders() -> None:
    assert _draws(MiniHackContexts(5, seed=3, stream=0)) != _draws(MiniHackContexts(5, seed=3, stream=1))
    assert _draws(MiniHackContexts(5, seed=3, stream=(0, 1))) != _draws(MiniHackContexts(5, seed=3, stream=(1, 0)))


def test_a_smaller_set_is_a_prefix_of_a_larger_one() -> None:
    three, ten = MiniHackContexts(3, seed=1).ids, MiniHackContexts(10, seed=1).ids
    assert three is not None
    assert ten is not None
    assert ten[:3] == three


def test_the_draws_are_uniform() -> None:
    counts = Counter(_draws(MiniHackContexts(5, seed=0), 5000))
    assert len(counts) == 5
    assert sum((count - 1000) ** 2 / 1000 for count in counts.values()) < 18.5  # chi square, 4 degrees, 0.999


def test_infinite_contexts_are_distinct_and_reproducible() -> None:
    first = _draws(MiniHackContexts("inf", seed=4), 1000)
    assert len(set(first)) == 1000
    assert first == _draws(MiniHackContexts(None, seed=4), 1000)
    assert first != _draws(MiniHackContexts("inf", seed=5), 1000)


@pytest.mark.parametrize("count", [3, "inf"])
def test_held_out_contexts_never_occur_in_training(count: int | str) -> None:
    assert all(0 <= context < HALF for context in _draws(MiniHackContexts(count)))
    assert all(HALF <= context < 2 * HALF for context in _draws(MiniHackContexts(count, held_out=True)))


def test_reseeding_restarts_the_order_and_keeps_the_set() -> None:
    contexts = MiniHackContexts(10, seed=0)
    ids = contexts.ids
    contexts.reseed(77)
    first = _draws(contexts)
    contexts.reseed(77)
    assert _draws(contexts) == first
    assert contexts.ids == ids


def test_state_survives_pickling() -> None:
    contexts = MiniHackContexts(10, seed=2)
    _draws(contexts, 7)
    state = pickle.dumps(contexts.get_state())
    expected = _draws(contexts)
    restored = MiniHackContexts(10, seed=2)
    restored.set_state(pickle.loads(state))
    assert _draws(restored) == expected


def test_a_state_of_other_contexts_is_rejected() -> None:
    with pytest.raises(InvalidInput, match="other contexts"):
        MiniHackContexts(10, seed=3).set_state(MiniHackContexts(10, seed=2).get_state())


@pytest.mark.parametrize(
    ("text", "count"), [("1", 1), ("10", 10), (3, 3), ("inf", None), (" INF ", None), (None, None)]
)
def test_counts(text: int | str | None, count: int | None) -> None:
    assert parse_count(text) == count


@pytest.mark.parametrize("bad", [0, -1, "0", "-3", "many", "", "1.5", 2.5, True, 10**9, "²"])
def test_invalid_counts_are_rejected(bad: object) -> None:
    with pytest.raises(InvalidInput, match="allowed: 1 to") as caught:
        MiniHackContexts(bad)  # type: ignore[arg-type]
    assert repr(bad) in str(caught.value)


@pytest.mark.parametrize("bad", [-1, 2**48, 1.0, "7", None, True])
def test_invalid_ids_are_rejected(bad: object) -> None:
    with pytest.raises(InvalidInput, match="allowed: whole numbers from 0") as caught:
        check_context(bad)
    assert repr(bad) in str(caught.value)


@pytest.mark.parametrize("setting", [{"seed": -1}, {"seed": "a"}, {"stream": -2}])
def test_invalid_seeds_are_rejected(setting: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(setting))):
        MiniHackContexts(3, **setting)  # type: ignore[arg-type]

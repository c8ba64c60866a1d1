"""Which contexts are drawn."""

from __future__ import annotations

import pickle
from collections import Counter

import pytest

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.minihack import Contexts
from bonuslab.envs.minihack.contexts import check_context, parse_count

HALF = 2**47


def _draws(contexts: Contexts, number: int = 50) -> list[int]:
    return [contexts.draw() for _ in range(number)]


def test_finite_contexts_are_the_same_in_every_stream() -> None:
    sets = {Contexts(5, seed=3, stream=stream).ids for stream in range(10)}
    assert len(sets) == 1
    (ids,) = sets
    assert ids is not None
    assert len(set(ids)) == 5


def test_streams_meet_them_in_different_orders() -> None:
    assert _draws(Contexts(5, seed=3, stream=0)) != _draws(Contexts(5, seed=3, stream=1))
    assert _draws(Contexts(5, seed=3, stream=(0, 1))) != _draws(Contexts(5, seed=3, stream=(1, 0)))


def test_few_contexts_are_the_first_of_more() -> None:
    three, ten = Contexts(3, seed=1).ids, Contexts(10, seed=1).ids
    assert three is not None
    assert ten is not None
    assert ten[:3] == three


def test_the_draws_are_uniform() -> None:
    counts = Counter(_draws(Contexts(5, seed=0), 5000))
    assert len(counts) == 5
    assert sum((count - 1000) ** 2 / 1000 for count in counts.values()) < 18.5  # chi square, 4 degrees, 0.999


def test_infinite_contexts_are_fresh_and_reproducible() -> None:
    first = _draws(Contexts("inf", seed=4), 1000)
    assert len(set(first)) == 1000
    assert first == _draws(Contexts(None, seed=4), 1000)
    assert first != _draws(Contexts("inf", seed=5), 1000)


@pytest.mark.parametrize("count", [3, "inf"])
def test_held_out_contexts_never_occur_in_training(count: int | str) -> None:
    assert all(0 <= context < HALF for context in _draws(Contexts(count)))
    assert all(HALF <= context < 2 * HALF for context in _draws(Contexts(count, held_out=True)))


def test_reseeding_restarts_the_order_and_keeps_the_set() -> None:
    contexts = Contexts(10, seed=0)
    ids = contexts.ids
    contexts.reseed(77)
    first = _draws(contexts)
    contexts.reseed(77)
    assert _draws(contexts) == first
    assert contexts.ids == ids


def test_state_survives_pickling() -> None:
    contexts = Contexts(10, seed=2)
    _draws(contexts, 7)
    state = pickle.dumps(contexts.get_state())
    expected = _draws(contexts)
    restored = Contexts(10, seed=2)
    restored.set_state(pickle.loads(state))
    assert _draws(restored) == expected


def test_state_of_other_contexts_is_refused() -> None:
    with pytest.raises(InvalidInput, match="other contexts"):
        Contexts(10, seed=3).set_state(Contexts(10, seed=2).get_state())


@pytest.mark.parametrize(
    ("text", "count"), [("1", 1), ("10", 10), (3, 3), ("inf", None), (" INF ", None), (None, None)]
)
def test_counts(text: int | str | None, count: int | None) -> None:
    assert parse_count(text) == count


@pytest.mark.parametrize("bad", [0, -1, "0", "-3", "many", "", "1.5", 2.5, True, 10**9, "²"])
def test_bad_counts_are_named(bad: object) -> None:
    with pytest.raises(InvalidInput, match="allowed: 1 to") as caught:
        Contexts(bad)  # type: ignore[arg-type]
    assert repr(bad) in str(caught.value)


@pytest.mark.parametrize("bad", [-1, 2**48, 1.0, "7", None, True])
def test_bad_ids_are_named(bad: object) -> None:
    with pytest.raises(InvalidInput, match="allowed: whole numbers from 0") as caught:
        check_context(bad)
    assert repr(bad) in str(caught.value)


@pytest.mark.parametrize("setting", [{"seed": -1}, {"seed": "a"}, {"stream": -2}])
def test_bad_seeds_are_named(setting: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(setting))):
        Contexts(3, **setting)  # type: ignore[arg-type]

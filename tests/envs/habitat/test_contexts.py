"""Contexts: distinct, reproducible, and in scenes of their own split."""

from __future__ import annotations

from typing import Any

import pytest

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.habitat.apartments.simulator import ApartmentScenes
from bonuslab.envs.habitat.contexts import Contexts, check_context, context_id, scene_and_start

APARTMENTS = ApartmentScenes()


def scenes_of(contexts: Contexts) -> list[int]:
    assert contexts.ids is not None
    return [scene_and_start(context)[0] for context in contexts.ids]


def test_a_context_is_a_scene_and_a_start() -> None:
    assert scene_and_start(context_id(873, 41)) == (873, 41)
    assert context_id(3, 0) == 3


def test_a_set_takes_every_scene_once_before_any_twice() -> None:
    whole = scenes_of(Contexts(APARTMENTS, 800, seed=5))
    assert sorted(whole) == list(range(800))
    more = Contexts(APARTMENTS, 830, seed=5)
    assert len(set(more.ids or ())) == 830
    assert len(set(scenes_of(more))) == 800


def test_held_out_contexts_are_in_scenes_that_training_never_meets() -> None:
    assert set(scenes_of(Contexts(APARTMENTS, 100, held_out=True))) == set(range(800, 900))
    assert set(scenes_of(Contexts(APARTMENTS, 100, split="test"))) == set(range(900, 1000))
    endless = [scene_and_start(Contexts(APARTMENTS, "inf", stream=k).draw())[0] for k in range(50)]
    assert max(endless) < 800
    assert len(set(endless)) > 30


def test_a_smaller_set_is_the_beginning_of_a_larger_one() -> None:
    three, five = Contexts(APARTMENTS, 3, seed=2).ids, Contexts(APARTMENTS, "5", seed=2).ids
    assert three is not None
    assert five is not None
    assert five[:3] == three
    assert Contexts(APARTMENTS, 3, seed=3).ids != three


def test_the_set_depends_on_the_seed_and_the_order_on_the_stream_too() -> None:
    one, other = Contexts(APARTMENTS, 8, seed=1, stream=(0, 1)), Contexts(APARTMENTS, 8, seed=1, stream=(0, 2))
    assert one.ids == other.ids
    assert [one.draw() for _ in range(20)] != [other.draw() for _ in range(20)]
    one.reseed(1)
    again = Contexts(APARTMENTS, 8, seed=1, stream=(0, 1))
    assert [one.draw() for _ in range(20)] == [again.draw() for _ in range(20)]


def test_restored_contexts_go_on_with_the_same_draws() -> None:
    original, restored = Contexts(APARTMENTS, "inf", seed=4), Contexts(APARTMENTS, "inf", seed=4)
    for _ in range(5):
        original.draw()
    restored.set_state(original.get_state())
    assert [original.draw() for _ in range(9)] == [restored.draw() for _ in range(9)]
    with pytest.raises(InvalidInput, match="other contexts"):
        Contexts(APARTMENTS, 3).set_state(original.get_state())


def test_more_contexts_than_there_are_is_refused(bare_rooms: Any) -> None:
    assert len(Contexts(bare_rooms, 12).ids or ()) == 12
    with pytest.raises(InvalidInput, match=r"contexts 13 .* train split of bare rooms has 12"):
        Contexts(bare_rooms, 13)


@pytest.mark.parametrize("bad", [0, -3, "many", 1.5, True, 10**7])
def test_a_bad_count_is_named(bad: Any) -> None:
    with pytest.raises(InvalidInput, match="contexts") as caught:
        Contexts(APARTMENTS, bad)
    assert repr(bad) in str(caught.value)


def test_an_unknown_split_is_named() -> None:
    with pytest.raises(InvalidInput, match=r"unknown split of apartments 'valid'; did you mean val"):
        Contexts(APARTMENTS, split="valid")


@pytest.mark.parametrize("bad", [-1, 1.0, "7", True, context_id(5, 10**9)])
def test_a_bad_context_is_named(bad: Any) -> None:
    with pytest.raises(InvalidInput, match="context id"):
        check_context(bad, APARTMENTS)

"""Many lanes give what each gives alone, and name what fails."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.lanes import LaneError
from bonuslab.envs.minihack import MiniHackEnv, MiniHackLanes
from bonuslab.envs.minihack.game import observation_buffers

NUM_LANES = 3


@pytest.fixture
def lanes() -> Iterator[MiniHackLanes]:
    made = MiniHackLanes("MultiRoom-N6-Lava", NUM_LANES, seed=1)
    yield made
    made.close()


def _assert_equal(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    assert one.keys() == other.keys()
    for key in one:
        np.testing.assert_array_equal(one[key], other[key])


@pytest.mark.parametrize("contexts", [2, "inf"])
def test_lanes_give_what_environments_give_alone(contexts: int | str) -> None:
    name = "MultiRoom-N6-LavaMonsters"
    lanes = MiniHackLanes(name, NUM_LANES, contexts, seed=3, stream=5, max_steps=6)
    alone = [MiniHackEnv(name, contexts, seed=3, stream=(5, lane), max_steps=6) for lane in range(NUM_LANES)]
    batch = lanes.reset()
    for lane, env in enumerate(alone):
        _assert_equal({key: array[lane] for key, array in batch.items()}, env.reset()[0])
    rng = np.random.default_rng(0)
    totals, lengths, finished = np.zeros(NUM_LANES), np.zeros(NUM_LANES, int), 0
    statuses = set()
    for _ in range(60):
        actions = rng.integers(8, size=NUM_LANES)
        step = lanes.step(actions)
        ended = {episode.lane: episode for episode in step.finished}
        for lane, env in enumerate(alone):
            observation, reward, terminated, truncated, info = env.step(int(actions[lane]))
            totals[lane] += reward
            lengths[lane] += 1
            assert step.reward[lane] == np.float32(reward)
            assert (step.terminated[lane], step.truncated[lane]) == (terminated, truncated)
            assert (lane in ended) == (terminated or truncated)
            if lane in ended:
                episode = ended[lane]
                _assert_equal(episode.final_observation, observation)
                assert (episode.context, episode.end_status) == (info["context"], info["end_status"])
                assert (episode.length, episode.total_reward) == (lengths[lane], totals[lane])
                totals[lane], lengths[lane] = 0, 0
                statuses.add(episode.end_status)
                finished += 1
                observation, info = env.reset()
            assert lanes.contexts[lane] == info["context"]
            _assert_equal({key: array[lane] for key, array in step.observations.items()}, observation)
    assert finished > 10
    assert statuses == {"died", "step_limit"}
    for env in alone:
        env.close()
    lanes.close()


def test_lanes_write_into_the_callers_arrays(lanes: MiniHackLanes) -> None:
    rows = {key: np.zeros((4, *array.shape), array.dtype) for key, array in observation_buffers(NUM_LANES).items()}
    own = lanes.reset()
    lanes_first = {key: array.copy() for key, array in own.items()}
    assert lanes.step(np.zeros(NUM_LANES, int), out={key: row[2] for key, row in rows.items()}).observations is not own
    _assert_equal({key: row[2] for key, row in rows.items()}, own)
    assert not rows["glyphs"][[0, 1, 3]].any()
    assert not np.array_equal(lanes_first["blstats"], own["blstats"])


def test_final_observations_are_not_overwritten(lanes: MiniHackLanes) -> None:
    rng = np.random.default_rng(0)
    lanes.reset()
    kept = []
    for _ in range(40):
        for episode in lanes.step(rng.integers(8, size=NUM_LANES)).finished:
            kept.append((episode, episode.final_observation["blstats"].copy()))
    assert len(kept) > 5
    for episode, blstats in kept:
        np.testing.assert_array_equal(episode.final_observation["blstats"], blstats)


def test_shapes_and_types(lanes: MiniHackLanes) -> None:
    lanes.reset()
    step = lanes.step([0] * NUM_LANES)
    forms = {key: (array.shape, array.dtype.name) for key, array in step.observations.items()}
    assert forms == {
        "glyphs": ((NUM_LANES, 21, 79), "int16"),
        "blstats": ((NUM_LANES, 27), "int64"),
        "message": ((NUM_LANES, 256), "uint8"),
    }
    assert (step.reward.dtype, step.terminated.dtype, step.truncated.dtype) == (np.float32, np.bool_, np.bool_)
    assert lanes.contexts.dtype == np.int64
    assert lanes.observation_space.contains({key: array[0] for key, array in step.observations.items()})


def test_restored_lanes_go_on_exactly() -> None:
    name = "MultiRoom-N6-LavaMonsters"
    original, restored = (MiniHackLanes(name, NUM_LANES, contexts=4, seed=8) for _ in range(2))
    rng = np.random.default_rng(2)
    original.reset()
    for _ in range(15):
        now = original.step(rng.integers(8, size=NUM_LANES))
    state = pickle.loads(pickle.dumps(original.get_state()))
    _assert_equal(restored.set_state(state), now.observations)
    np.testing.assert_array_equal(restored.contexts, original.contexts)
    for _ in range(60):
        actions = rng.integers(8, size=NUM_LANES)
        one, other = original.step(actions), restored.step(actions)
        _assert_equal(one.observations, other.observations)
        np.testing.assert_array_equal(one.reward, other.reward)
        summaries = [[(each.length, each.total_reward) for each in step.finished] for step in (one, other)]
        assert summaries[0] == summaries[1]
    original.close()
    restored.close()


def test_a_state_before_the_first_reset(lanes: MiniHackLanes) -> None:
    other = MiniHackLanes("MultiRoom-N6-Lava", NUM_LANES, seed=1)
    other.set_state(lanes.get_state())
    with pytest.raises(InvalidInput, match="before reset"):
        other.step([0] * NUM_LANES)
    _assert_equal(lanes.reset(), other.reset())
    other.close()


def test_a_state_that_does_not_fit_is_refused(lanes: MiniHackLanes) -> None:
    other = MiniHackLanes("MultiRoom-N6-Lava", 2)
    with pytest.raises(InvalidInput, match=r"2 lanes of .* does not fit 3 lanes"):
        lanes.set_state(other.get_state())
    other.close()


def test_a_crash_names_lane_task_and_context(lanes: MiniHackLanes, monkeypatch: pytest.MonkeyPatch) -> None:
    lanes.reset()

    def crash(action: int) -> float:
        raise RuntimeError("the game fell over")

    monkeypatch.setattr(lanes._episodes[1], "step", crash)
    with pytest.raises(LaneError, match="the game fell over") as caught:
        lanes.step([0] * NUM_LANES)
    assert f"lane 1 of 3, task MiniHack-MultiRoom-N6-Lava-v0, context {lanes.contexts[1]}" in str(caught.value)


def test_a_crash_in_a_reset_names_lane_task_and_context(lanes: MiniHackLanes, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: Any) -> None:
        raise RuntimeError("no level")

    monkeypatch.setattr(lanes._episodes[2].game, "start", crash)
    with pytest.raises(LaneError, match=r"lane 2 of 3, task .*, context \d+: no level"):
        lanes.reset()


@pytest.mark.parametrize("bad", [[0, 1], [[0, 1, 2]], [0, 1, 8], [0, -1, 1], [0.5, 1.0, 2.0]])
def test_bad_actions_are_named_before_any_lane_steps(lanes: MiniHackLanes, bad: Any) -> None:
    before = {key: array.copy() for key, array in lanes.reset().items()}
    with pytest.raises(InvalidInput, match="allowed"):
        lanes.step(bad)
    _assert_equal(before, lanes._observations)


def test_step_needs_reset(lanes: MiniHackLanes) -> None:
    with pytest.raises(InvalidInput, match="before reset"):
        lanes.step([0] * NUM_LANES)


@pytest.mark.parametrize("bad", [0, -1, 1.5, "3", True])
def test_a_bad_number_of_lanes_is_named(bad: Any) -> None:
    with pytest.raises(InvalidInput, match="num_lanes") as caught:
        MiniHackLanes("MultiRoom-N6-Lava", bad)
    assert repr(bad) in str(caught.value)

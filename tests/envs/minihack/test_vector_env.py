"""A vector env gives what each of its envs gives alone; errors name the env."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.minihack import MiniHackEnv, MiniHackVectorEnv
from bonuslab.envs.minihack.game import observation_buffers
from bonuslab.envs.vector_env import EnvError

NUM_ENVS = 3


@pytest.fixture
def envs() -> Iterator[MiniHackVectorEnv]:
    made = MiniHackVectorEnv("MultiRoom-N6-Lava", NUM_ENVS, seed=1)
    yield made
    made.close()


def _assert_equal(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    assert one.keys() == other.keys()
    for key in one:
        np.testing.assert_array_equal(one[key], other[key])


@pytest.mark.parametrize("contexts", [2, "inf"])
def test_envs_give_what_each_gives_alone(contexts: int | str) -> None:
    name = "MultiRoom-N6-LavaMonsters"
    envs = MiniHackVectorEnv(name, NUM_ENVS, contexts, seed=3, stream=5, max_steps=6)
    alone = [MiniHackEnv(name, contexts, seed=3, stream=(5, env_index), max_steps=6) for env_index in range(NUM_ENVS)]
    batch = envs.reset()
    for env_index, env in enumerate(alone):
        _assert_equal({key: array[env_index] for key, array in batch.items()}, env.reset()[0])
    rng = np.random.default_rng(0)
    totals, lengths, finished = np.zeros(NUM_ENVS), np.zeros(NUM_ENVS, int), 0
    statuses = set()
    for _ in range(60):
        actions = rng.integers(8, size=NUM_ENVS)
        step = envs.step(actions)
        ended = {episode.env_index: episode for episode in step.finished}
        for env_index, env in enumerate(alone):
            observation, reward, terminated, truncated, info = env.step(int(actions[env_index]))
            totals[env_index] += reward
            lengths[env_index] += 1
            assert step.reward[env_index] == np.float32(reward)
            assert (step.terminated[env_index], step.truncated[env_index]) == (terminated, truncated)
            assert (env_index in ended) == (terminated or truncated)
            if env_index in ended:
                episode = ended[env_index]
                _assert_equal(episode.final_observation, observation)
                assert (episode.context, episode.end_status) == (info["context"], info["end_status"])
                assert (episode.length, episode.total_reward) == (lengths[env_index], totals[env_index])
                totals[env_index], lengths[env_index] = 0, 0
                statuses.add(episode.end_status)
                finished += 1
                observation, info = env.reset()
            assert envs.contexts[env_index] == info["context"]
            _assert_equal({key: array[env_index] for key, array in step.observations.items()}, observation)
    assert finished > 10
    assert statuses == {"died", "step_limit"}
    for env in alone:
        env.close()
    envs.close()


def test_observations_are_written_into_the_callers_arrays(envs: MiniHackVectorEnv) -> None:
    rows = {key: np.zeros((4, *array.shape), array.dtype) for key, array in observation_buffers(NUM_ENVS).items()}
    own = envs.reset()
    first = {key: array.copy() for key, array in own.items()}
    assert envs.step(np.zeros(NUM_ENVS, int), out={key: row[2] for key, row in rows.items()}).observations is not own
    _assert_equal({key: row[2] for key, row in rows.items()}, own)
    assert not rows["glyphs"][[0, 1, 3]].any()
    assert not np.array_equal(first["blstats"], own["blstats"])


def test_final_observations_are_not_overwritten(envs: MiniHackVectorEnv) -> None:
    rng = np.random.default_rng(0)
    envs.reset()
    kept = []
    for _ in range(40):
        for episode in envs.step(rng.integers(8, size=NUM_ENVS)).finished:
            kept.append((episode, episode.final_observation["blstats"].copy()))
    assert len(kept) > 5
    for episode, blstats in kept:
        np.testing.assert_array_equal(episode.final_observation["blstats"], blstats)


def test_shapes_and_types(envs: MiniHackVectorEnv) -> None:
    envs.reset()
    step = envs.step([0] * NUM_ENVS)
    forms = {key: (array.shape, array.dtype.name) for key, array in step.observations.items()}
    assert forms == {
        "glyphs": ((NUM_ENVS, 21, 79), "int16"),
        "blstats": ((NUM_ENVS, 27), "int64"),
        "message": ((NUM_ENVS, 256), "uint8"),
    }
    assert (step.reward.dtype, step.terminated.dtype, step.truncated.dtype) == (np.float32, np.bool_, np.bool_)
    assert envs.contexts.dtype == np.int64
    assert envs.observation_space.contains({key: array[0] for key, array in step.observations.items()})


def test_restored_envs_resume_exactly() -> None:
    name = "MultiRoom-N6-LavaMonsters"
    original, restored = (MiniHackVectorEnv(name, NUM_ENVS, contexts=4, seed=8) for _ in range(2))
    rng = np.random.default_rng(2)
    original.reset()
    for _ in range(15):
        now = original.step(rng.integers(8, size=NUM_ENVS))
    state = pickle.loads(pickle.dumps(original.get_state()))
    _assert_equal(restored.set_state(state), now.observations)
    np.testing.assert_array_equal(restored.contexts, original.contexts)
    for _ in range(60):
        actions = rng.integers(8, size=NUM_ENVS)
        one, other = original.step(actions), restored.step(actions)
        _assert_equal(one.observations, other.observations)
        np.testing.assert_array_equal(one.reward, other.reward)
        summaries = [[(each.length, each.total_reward) for each in step.finished] for step in (one, other)]
        assert summaries[0] == summaries[1]
    original.close()
    restored.close()


def test_a_state_from_before_the_first_reset(envs: MiniHackVectorEnv) -> None:
    other = MiniHackVectorEnv("MultiRoom-N6-Lava", NUM_ENVS, seed=1)
    other.set_state(envs.get_state())
    with pytest.raises(InvalidInput, match="before reset"):
        other.step([0] * NUM_ENVS)
    _assert_equal(envs.reset(), other.reset())
    other.close()


def test_a_state_that_does_not_fit_is_rejected(envs: MiniHackVectorEnv) -> None:
    other = MiniHackVectorEnv("MultiRoom-N6-Lava", 2)
    with pytest.raises(InvalidInput, match=r"2 envs of .* does not fit 3 envs"):
        envs.set_state(other.get_state())
    other.close()


def test_a_crash_names_env_task_and_context(envs: MiniHackVectorEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    envs.reset()

    def crash(action: int) -> float:
        raise RuntimeError("the game crashed")

    monkeypatch.setattr(envs._episodes[1], "step", crash)
    with pytest.raises(EnvError, match="the game crashed") as caught:
        envs.step([0] * NUM_ENVS)
    assert f"env 1 of 3, task MiniHack-MultiRoom-N6-Lava-v0, context {envs.contexts[1]}" in str(caught.value)


def test_a_crash_in_a_reset_names_env_task_and_context(
    envs: MiniHackVectorEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: Any) -> None:
        raise RuntimeError("no level")

    monkeypatch.setattr(envs._episodes[2].game, "start", crash)
    with pytest.raises(EnvError, match=r"env 2 of 3, task .*, context \d+: no level"):
        envs.reset()


@pytest.mark.parametrize("bad", [[0, 1], [[0, 1, 2]], [0, 1, 8], [0, -1, 1], [0.5, 1.0, 2.0]])
def test_invalid_actions_are_rejected_before_any_env_steps(envs: MiniHackVectorEnv, bad: Any) -> None:
    before = {key: array.copy() for key, array in envs.reset().items()}
    with pytest.raises(InvalidInput, match="allowed"):
        envs.step(bad)
    _assert_equal(before, envs._observations)


def test_step_needs_reset(envs: MiniHackVectorEnv) -> None:
    with pytest.raises(InvalidInput, match="before reset"):
        envs.step([0] * NUM_ENVS)


@pytest.mark.parametrize("bad", [0, -1, 1.5, "3", True])
def test_an_invalid_num_envs_is_rejected(bad: Any) -> None:
    with pytest.raises(InvalidInput, match="num_envs") as caught:
        MiniHackVectorEnv("MultiRoom-N6-Lava", bad)
    assert repr(bad) in str(caught.value)

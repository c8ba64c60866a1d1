"""HabitatVectorEnv matches single environments, and its errors name the env."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.habitat import HabitatEnv, HabitatVectorEnv
from bonuslab.envs.habitat.spaces import observation_buffers
from bonuslab.envs.vector_env import EnvError, VectorEnv

NUM_ENVS = 3
SETTINGS: dict[str, Any] = {"size": 16, "max_steps": 9}


def assert_equal(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    assert one.keys() == other.keys()
    for key in one:
        np.testing.assert_array_equal(one[key], other[key], err_msg=key)


@pytest.mark.parametrize("contexts", [2, "inf"])
def test_matches_single_environments(contexts: int | str) -> None:
    settings = {**SETTINGS, "contexts": contexts, "seed": 3, "stop_ends_episode": True}
    envs = HabitatVectorEnv("apartments", NUM_ENVS, stream=5, **settings)
    alone = [HabitatEnv("apartments", stream=(5, env_index), **settings) for env_index in range(NUM_ENVS)]
    batch = envs.reset()
    for env_index, env in enumerate(alone):
        assert_equal({key: array[env_index] for key, array in batch.items()}, env.reset()[0])
    rng = np.random.default_rng(0)
    statuses = []
    for _ in range(25):
        actions = rng.choice(4, NUM_ENVS, p=[0.05, 0.55, 0.2, 0.2])
        step = envs.step(actions)
        ended = {episode.env_index: episode for episode in step.finished}
        assert not step.reward.any()
        for env_index, env in enumerate(alone):
            observation, _, terminated, truncated, info = env.step(int(actions[env_index]))
            assert (step.terminated[env_index], step.truncated[env_index]) == (terminated, truncated)
            assert (env_index in ended) == (terminated or truncated)
            if env_index in ended:
                episode = ended[env_index]
                assert_equal(episode.final_observation, observation)
                assert episode.metrics == {"coverage": info["coverage"]}
                assert (episode.context, episode.end_status) == (info["context"], info["end_status"])
                assert (episode.length, episode.total_reward) == (len(env.path) - 1, 0.0)
                statuses.append(episode.end_status)
                observation, info = env.reset()
            assert envs.contexts[env_index] == info["context"]
            assert_equal({key: array[env_index] for key, array in step.observations.items()}, observation)
    assert set(statuses) == {"stopped", "step_limit"}
    envs.close()


def test_restored_envs_continue_exactly() -> None:
    original, restored = (HabitatVectorEnv("apartments", NUM_ENVS, 4, seed=8, **SETTINGS) for _ in range(2))
    rng = np.random.default_rng(2)
    original.reset()
    for _ in range(13):
        now = original.step(rng.integers(1, 4, NUM_ENVS))
    state = pickle.loads(pickle.dumps(original.get_state()))
    assert_equal(restored.set_state(state), now.observations)
    np.testing.assert_array_equal(restored.contexts, original.contexts)
    for _ in range(15):
        actions = rng.integers(1, 4, NUM_ENVS)
        one, other = original.step(actions), restored.step(actions)
        assert_equal(one.observations, other.observations)
        assert [each.metrics for each in one.finished] == [each.metrics for each in other.finished]


def test_writes_into_the_callers_arrays(bare_rooms: Any) -> None:
    envs: VectorEnv = HabitatVectorEnv(bare_rooms, NUM_ENVS, **SETTINGS)
    rows = {key: np.zeros((4, *array.shape), array.dtype) for key, array in observation_buffers(NUM_ENVS, 16).items()}
    own = envs.reset()
    envs.step(np.ones(NUM_ENVS, int), out={key: row[2] for key, row in rows.items()})
    assert_equal({key: row[2] for key, row in rows.items()}, own)
    assert rows["rgb"][2].any()
    assert not rows["rgb"][[0, 1, 3]].any()


def test_final_observations_are_not_overwritten(bare_rooms: Any) -> None:
    envs = HabitatVectorEnv(bare_rooms, NUM_ENVS, size=16, max_steps=2)
    envs.reset()
    envs.step([1, 1, 1])
    (first, *_) = envs.step([1, 2, 1]).finished
    kept = first.final_observation["rgb"].copy()
    assert kept[0, 0, 0] == 2
    envs.step([1, 1, 1])
    np.testing.assert_array_equal(first.final_observation["rgb"], kept)


def test_incompatible_state_is_rejected(bare_rooms: Any) -> None:
    envs, fewer = HabitatVectorEnv(bare_rooms, 3, size=16), HabitatVectorEnv(bare_rooms, 2, size=16)
    with pytest.raises(InvalidInput, match=r"2 envs of bare rooms does not fit 3 envs"):
        envs.set_state(fewer.get_state())


def test_errors_name_env_and_context(bare_rooms: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    envs = HabitatVectorEnv(bare_rooms, NUM_ENVS, size=16)
    envs.reset()

    def crash(*_: Any) -> None:
        raise RuntimeError("the roof fell in")

    monkeypatch.setattr(envs._episodes[1]._simulator, "act", crash)
    with pytest.raises(EnvError, match=rf"env 1 of 3, bare rooms, context {envs.contexts[1]}: the roof fell in"):
        envs.step([1, 1, 1])


@pytest.mark.parametrize("bad", [[0, 1], [[0, 1, 2]], [0, 1, 4], [0, -1, 1], [0.5, 1.0, 2.0]])
def test_invalid_actions_are_reported_before_any_env_steps(bare_rooms: Any, bad: Any) -> None:
    envs = HabitatVectorEnv(bare_rooms, NUM_ENVS, size=16)
    with pytest.raises(InvalidInput, match="before reset"):
        envs.step([1, 1, 1])
    before = {key: array.copy() for key, array in envs.reset().items()}
    with pytest.raises(InvalidInput, match="allowed"):
        envs.step(bad)
    assert_equal(before, envs._observations)


def test_close_closes_every_simulator(bare_rooms: Any) -> None:
    envs = HabitatVectorEnv(bare_rooms, 2, size=16)
    envs.close()
    assert all(episode._simulator.closed for episode in envs._episodes)  # type: ignore[attr-defined]


@pytest.mark.parametrize("bad", [0, -1, 1.5, "3", True])
def test_invalid_num_envs_is_reported(bare_rooms: Any, bad: Any) -> None:
    with pytest.raises(InvalidInput, match="num_envs"):
        HabitatVectorEnv(bare_rooms, bad)

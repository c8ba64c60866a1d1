"""HabitatEnv: episodes, termination, sensors and exact replay."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.habitat import HabitatEnv
from bonuslab.envs.habitat.contexts import context_id
from bonuslab.envs.habitat.simulator import Action

SIZE = 16


def assert_equal(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    assert one.keys() == other.keys()
    for key in one:
        np.testing.assert_array_equal(one[key], other[key], err_msg=key)


def test_passes_gymnasium_checker(recwarn: pytest.WarningsRecorder) -> None:
    env = gym.make("bonuslab/Apartments-v0", size=SIZE, disable_env_checker=True).unwrapped
    check_env(env, skip_render_check=True)


def test_observations_match_the_spec() -> None:
    env = HabitatEnv(size=32)
    observation, info = env.reset(seed=0)
    specs = {key: (array.shape, array.dtype.name) for key, array in observation.items()}
    assert specs == {
        "rgb": ((32, 32, 3), "uint8"),
        "depth": ((32, 32, 1), "float16"),
        "gps": ((2,), "float32"),
        "compass": ((1,), "float32"),
        "previous_action": ((1,), "uint8"),
    }
    assert env.observation_space.contains(observation)
    assert env.action_space.n == 4
    assert info["end_status"] == "running"
    assert info["scene"].startswith("apartment ")
    assert 0 < info["coverage"] < 1
    assert not observation["gps"].any()
    assert not observation["compass"].any()
    assert not observation["previous_action"].any()


def test_episode_has_500_steps_without_reward() -> None:
    env = HabitatEnv(size=SIZE)
    env.reset(seed=1)
    rng = np.random.default_rng(0)
    rewards, endings = [], []
    for _ in range(500):
        _, reward, terminated, truncated, info = env.step(int(rng.integers(4)))
        rewards.append(reward)
        endings.append((terminated, truncated))
    assert not any(rewards)
    assert endings[-1] == (False, True)
    assert not any(any(ending) for ending in endings[:-1])
    assert info["end_status"] == "step_limit"
    with pytest.raises(InvalidInput, match="after the end"):
        env.step(1)


def test_stop_can_end_the_episode(bare_rooms: Any) -> None:
    env = HabitatEnv(bare_rooms, size=SIZE, stop_ends_episode=True)
    env.reset()
    env.step(Action.FORWARD)
    _, reward, terminated, truncated, info = env.step(Action.STOP)
    assert (reward, terminated, truncated, info["end_status"]) == (0.0, True, False, "stopped")


def test_stop_is_a_no_op_by_default(bare_rooms: Any) -> None:
    env = HabitatEnv(bare_rooms, size=SIZE, max_steps=3)
    env.reset()
    where = env.path[-1]
    endings = [env.step(Action.STOP)[2:4] for _ in range(3)]
    assert endings == [(False, False), (False, False), (False, True)]
    assert env.path == [where] * 4


def test_sensors_and_coverage_follow_the_agent(bare_rooms: Any) -> None:
    env = HabitatEnv(bare_rooms, size=SIZE)
    env.reset(options={"context": context_id(0, 1)})  # at (1.5, 1.0), looking along -z
    for _ in range(2):
        observation, *_ = env.step(Action.FORWARD)
    assert observation["gps"] == pytest.approx([0.5, 0.0])
    assert observation["previous_action"] == [Action.FORWARD + 1]
    for _ in range(9):
        observation, *_, info = env.step(Action.LEFT)
    assert observation["compass"] == pytest.approx([np.pi / 2])
    observation, *_ = env.step(Action.FORWARD)
    assert observation["gps"] == pytest.approx([0.5, -0.25], abs=1e-6)
    assert observation["rgb"][3, 4].tolist() == [12, 0, 7]
    assert (observation["depth"] == np.float16(1.0)).all()  # 14 metres, clipped
    assert len(env.path) == 13
    assert info["coverage"] == np.count_nonzero(env.revealed) / (60 * 80)


def test_episodes_are_determined_by_their_context() -> None:
    one, other = HabitatEnv(size=SIZE), HabitatEnv(size=SIZE, seed=9)
    first, info = one.reset(seed=3)
    again, _ = other.reset(options={"context": info["context"]})
    assert_equal(first, again)
    for action in np.random.default_rng(0).integers(1, 4, 30).tolist():
        a, b = one.step(action), other.step(action)
        assert_equal(a[0], b[0])
        assert a[1:] == b[1:]


def test_restored_env_continues_exactly() -> None:
    rng = np.random.default_rng(2)
    original, restored = HabitatEnv(size=SIZE, max_steps=40), HabitatEnv(size=SIZE, max_steps=40)
    original.reset(seed=1)
    for action in rng.integers(1, 4, 25).tolist():
        now, *_ = original.step(action)
    assert_equal(restored.set_state(pickle.loads(pickle.dumps(original.get_state()))), now)
    assert restored.coverage == original.coverage
    for action in rng.integers(1, 4, 15).tolist():
        a, b = original.step(action), restored.step(action)
        assert_equal(a[0], b[0])
        assert a[1:] == b[1:]
    assert_equal(original.reset()[0], restored.reset()[0])


@pytest.mark.parametrize("bad", [4, -1, 0.5, "1", True, None])
def test_invalid_action_is_reported(bare_rooms: Any, bad: Any) -> None:
    env = HabitatEnv(bare_rooms, size=SIZE)
    env.reset()
    with pytest.raises(InvalidInput, match="0 stop, 1 forward, 2 left, 3 right"):
        env.step(bad)


def test_invalid_settings_are_reported(bare_rooms: Any) -> None:
    with pytest.raises(InvalidInput, match="unknown Habitat back end 'apartment'; did you mean apartments"):
        HabitatEnv("apartment")
    with pytest.raises(InvalidInput, match="size 8"):
        HabitatEnv(bare_rooms, size=8)
    with pytest.raises(InvalidInput, match="max_steps 0"):
        HabitatEnv(bare_rooms, max_steps=0)
    with pytest.raises(InvalidInput, match="render mode"):
        HabitatEnv(bare_rooms, render_mode="human")
    with pytest.raises(InvalidInput, match="data_path"):
        HabitatEnv("apartments", data_path="/somewhere")
    env = HabitatEnv(bare_rooms, size=SIZE)
    with pytest.raises(InvalidInput, match="before the first reset"):
        env.step(1)
    with pytest.raises(InvalidInput, match="reset option"):
        env.reset(options={"contxt": 1})


def test_render_shows_view_depth_and_map() -> None:
    env = HabitatEnv(size=SIZE, render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    assert picture.shape[0] == 256
    assert picture.shape[1] > 3 * 200
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 50

"""Observations become flat arrays, actions one number, and what does not fit its space is named."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from bonuslab.envs import catalogue
from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.gym.actions import ActionLayout
from bonuslab.envs.vector_env import EnvError

from .sample_envs import ContinuousEnv, CrashingEnv, EverythingEnv, VectorEnv


def test_every_space_becomes_an_array() -> None:
    envs = catalogue.make_vector_env(EverythingEnv, 2)
    forms = {key: (space.shape, space.dtype.name) for key, space in envs.observation_space.spaces.items()}
    assert forms == {
        "vector": ((3,), "float32"),
        "scalar": ((1,), "int64"),
        "switches": ((4,), "int8"),
        "kinds": ((2,), "int64"),
        "camera.rgb": ((6, 5, 3), "uint8"),
        "camera.angle": ((1,), "int64"),
        "pair.0": ((1,), "int64"),
        "pair.1": ((2, 2), "float64"),
        "words": ((128,), "uint8"),
    }
    shown = envs.reset()
    plain = EverythingEnv()
    for index, context in enumerate(envs.contexts.tolist()):
        expected, _ = plain.reset(seed=context)
        assert envs.observation_space.contains({key: array[index] for key, array in shown.items()})
        np.testing.assert_array_equal(shown["vector"][index], expected["vector"])
        np.testing.assert_array_equal(shown["camera.rgb"][index], expected["camera"]["rgb"])
        assert shown["camera.angle"][index] == expected["camera"]["angle"]
        np.testing.assert_array_equal(shown["pair.1"][index], expected["pair"][1])
        assert bytes(shown["words"][index]).rstrip(b"\0").decode() == "step 0 ü"


def test_a_multi_discrete_action_is_one_number() -> None:
    layout = ActionLayout("Some", EverythingEnv.action_space)
    assert layout.space == spaces.Discrete(6)
    rows = [layout.decode(action).tolist() for action in range(6)]
    assert rows == [[0, 5], [0, 6], [0, 7], [1, 5], [1, 6], [1, 7]]
    envs = catalogue.make_vector_env(EverythingEnv, 1)
    envs.reset()
    assert envs.step([4]).reward.tolist() == [6.0]
    assert ActionLayout("Some", spaces.Discrete(3, start=-1)).decode(0) == -1
    assert ActionLayout("Some", spaces.MultiDiscrete([64, 64])).space.n == 4096


def test_actions_that_are_not_supported_are_refused_with_the_environments_name() -> None:
    with pytest.raises(InvalidInput, match=r"Pendulum-v1 has actions Box.*; only Discrete and MultiDiscrete"):
        catalogue.check_settings("Pendulum-v1")
    with pytest.raises(InvalidInput, match="ContinuousEnv has actions Box"):
        catalogue.make_vector_env(ContinuousEnv, 1)
    with pytest.raises(InvalidInput, match="Some has 8,192 combinations of actions"):
        ActionLayout("Some", spaces.MultiDiscrete([128, 64]))


def test_observations_that_are_not_supported_are_refused() -> None:
    class GraphEnv(VectorEnv):
        observation_space = spaces.Dict({"net": spaces.Graph(spaces.Discrete(2), None)})

    class TwiceEnv(VectorEnv):
        observation_space = spaces.Dict({"a.b": spaces.Discrete(2), "a": spaces.Dict({"b": spaces.Discrete(2)})})

    with pytest.raises(InvalidInput, match="GraphEnv has the observation 'net' of space Graph"):
        catalogue.check_settings(GraphEnv)
    with pytest.raises(InvalidInput, match=r"two observations of one flattened name among a\.b"):
        catalogue.check_settings(TwiceEnv)


@pytest.mark.parametrize(
    ("space", "observation", "message"),
    [
        (None, np.array([0, np.nan, 0], np.float32), "'obs' contains NaN or infinity"),
        (None, np.zeros(4, np.float32), r"'obs' has shape \(4,\); its space has \(3,\)"),
        (spaces.Box(0, 255, (3,), np.uint8), np.zeros(3), "'obs' has type float64; its space has uint8"),
        (spaces.Discrete(3), 3, "'obs' is 3; its space has 0 to 2"),
        (spaces.Discrete(3), 0.5, "'obs' is 0.5; its space has whole numbers"),
        (spaces.MultiDiscrete([2, 2]), np.array([0, 2]), "'obs' is .* outside of its space"),
        (spaces.Text(5), 7, "'obs' is 7; its space has texts"),
        (spaces.Dict({"a": spaces.Discrete(2)}), {"b": 1}, "an observation without 'a'"),
        (spaces.Dict({"a": spaces.Discrete(2)}), 5, "an observation without 'a'"),
    ],
)
def test_wrong_observations_are_named_before_the_first_step(space: Any, observation: Any, message: str) -> None:
    class WrongEnv(VectorEnv):
        observation_space = space or VectorEnv.observation_space

        def observation(self) -> Any:
            return observation

    with pytest.raises(
        EnvError, match=rf"WrongEnv returned an observation .*{message.removeprefix('an observation ')}"
    ):
        catalogue.make_vector_env(WrongEnv, 2)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ((np.zeros(3, np.float32), float("nan"), False, False, {}), "returned the reward nan"),
        ((np.zeros(3, np.float32), None, False, False, {}), "returned the reward None"),
        ((np.zeros(3, np.float32), 0.0, False, {}), r"must return \(observation, reward, terminated"),
    ],
)
def test_wrong_steps_are_named(result: Any, message: str) -> None:
    class WrongStepEnv(VectorEnv):
        def step(self, action: Any) -> Any:
            return result

    with pytest.raises(EnvError, match=rf"WrongStepEnv.*{message}"):
        catalogue.make_vector_env(WrongStepEnv, 2)


def test_a_wrong_step_later_on_names_the_env_and_its_context() -> None:
    class LateEnv(VectorEnv):
        def observation(self) -> Any:
            return np.full(3, np.nan if self.steps == 30 else 0, np.float32)

    envs = catalogue.make_vector_env(LateEnv, 2)
    envs.reset()
    for _ in range(29):
        envs.step([0, 0])
    with pytest.raises(EnvError, match=r"contains NaN or infinity \(env 0 of 2, context \d+\)"):
        envs.step([0, 0])


def test_a_reset_of_the_old_api_is_named() -> None:
    class OldEnv(VectorEnv):
        def reset(self, **_: Any) -> Any:
            return np.zeros(3, np.float32)

    with pytest.raises(EnvError, match=r"reset\(\) of .*OldEnv must return"):
        catalogue.make_vector_env(OldEnv, 2)


@pytest.mark.parametrize("at", [0, 2, 8])
def test_a_crash_names_the_environment_and_keeps_its_traceback(at: int) -> None:
    def play() -> None:
        envs = catalogue.make_vector_env(CrashingEnv, 2, at=at)
        envs.reset()
        for _ in range(10):
            envs.step([0, 1])

    with pytest.raises(EnvError, match=r"CrashingEnv raised KeyError: 'the missing key' \(env 0 of 2") as caught:
        play()
    cause: BaseException | None = caught.value
    while cause is not None and not isinstance(cause, KeyError):
        cause = cause.__cause__
    assert cause is not None
    assert cause.__traceback__ is not None


def test_larger_numbers_fit_into_smaller_types_of_the_same_kind() -> None:
    class PreciseEnv(VectorEnv):
        def observation(self) -> Any:
            return [0.25, 0.5, 1]

    shown = catalogue.make_vector_env(PreciseEnv, 1).reset()["obs"]
    assert shown.dtype == np.float32
    assert shown.tolist() == [[0.25, 0.5, 1.0]]


def test_action_names() -> None:
    assert catalogue.find("MiniGrid-Empty-5x5-v0").action_names("MiniGrid-Empty-5x5-v0")[:3] == [
        "left",
        "right",
        "forward",
    ]
    assert catalogue.find("CartPole-v1").action_names("CartPole-v1") == ["0", "1"]
    assert catalogue.find(EverythingEnv).action_names(EverythingEnv)[3] == "[1 5]"

    def needs_size(size: int) -> gym.Env:
        return VectorEnv()

    assert catalogue.find(needs_size).action_names(needs_size)[:2] == ["0", "1"]

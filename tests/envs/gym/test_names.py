"""Environments are given as ids, classes, functions, registered names, RLlib's names, or `module:attribute`."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from bonuslab.envs import catalogue
from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.gym import USER_ENVIRONMENTS, register_environment
from bonuslab.envs.gym.family import FAMILY
from bonuslab.envs.gym.stateless_cartpole import StatelessCartPole

from .sample_envs import EverythingEnv, VectorEnv, make_maze


@pytest.fixture(autouse=True)
def _clean_registry() -> Iterator[None]:
    before = dict(USER_ENVIRONMENTS)
    yield
    USER_ENVIRONMENTS.clear()
    USER_ENVIRONMENTS.update(before)


def spaces_of(name: Any, **settings: Any) -> tuple[list[str], int]:
    envs = catalogue.make_vector_env(name, 1, **settings)
    envs.reset()
    envs.close()
    return sorted(envs.observation_space.spaces), int(envs.action_space.n)


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("CartPole-v1", "CartPole-v1"),
        (" cartpole-v1 ", "CartPole-v1"),
        ("CartPole", "CartPole-v1"),
        ("minigrid-multiroom-n6-v0", "MiniGrid-MultiRoom-N6-v0"),
        ("MiniGrid-MultiRoom-N6", "MiniGrid-MultiRoom-N6-v0"),
        ("StatelessCartPole", "StatelessCartPole-v1"),
    ],
)
def test_gymnasium_ids(name: str, canonical: str) -> None:
    assert catalogue.find(name) is FAMILY
    assert catalogue.canonical_name(name) == canonical


@pytest.mark.parametrize(
    ("name", "preset"),
    [
        ("CartPole-v1", "classic"),
        ("StatelessCartPole", "classic"),
        (EverythingEnv, "classic"),
        ("minigrid-multiroom-n6", "minigrid"),
        ("BabyAI-GoToRedBall-v0", "minigrid"),
        ("MultiRoom-N6", "laptop"),
    ],
)
def test_environments_have_presets(name: Any, preset: str) -> None:
    assert catalogue.default_preset(name) == preset


def test_classes_and_functions_have_stable_names() -> None:
    name = catalogue.canonical_name(EverythingEnv)
    assert name == f"{EverythingEnv.__module__}:EverythingEnv"
    assert catalogue.canonical_name(name) == name
    assert spaces_of(name) == spaces_of(EverythingEnv)
    assert spaces_of(make_maze, size=6) == (["agent_position", "direction", "image", "mission"], 7)
    assert catalogue.canonical_name(make_maze).endswith(":make_maze")
    for nameless in (lambda: VectorEnv(), functools.partial(make_maze, size=6), VectorEnv()):
        with pytest.raises(InvalidInput, match="has no name of its own"):
            catalogue.canonical_name(nameless)  # type: ignore[arg-type]


def test_registered_names_come_first_and_have_default_settings() -> None:
    register_environment("MultiRoom-N6", make_maze, size=6, max_episode_steps=3, won="never")
    assert catalogue.find("MultiRoom-N6") is FAMILY
    envs = catalogue.make_vector_env("MultiRoom-N6", 1)
    envs.reset()
    assert [bool(envs.step([0]).truncated[0]) for _ in range(3)] == [False, False, True]
    longer = catalogue.make_vector_env("MultiRoom-N6", 1, max_episode_steps=4, size=5)
    longer.reset()
    assert [bool(longer.step([0]).truncated[0]) for _ in range(4)] == [False, False, False, True]


def test_the_decorator_and_a_name_that_is_taken() -> None:
    @register_environment("Memory")
    class Memory(StatelessCartPole):
        pass

    assert USER_ENVIRONMENTS["Memory"].make is Memory
    assert catalogue.canonical_name(Memory) == "Memory"
    assert spaces_of("Memory") == (["obs"], 2)
    register_environment("Memory", Memory)  # as when a cell runs twice
    with pytest.raises(InvalidInput, match="'Memory' is taken"):
        register_environment("Memory", make_maze)
    for bad in ("", " Memory", 3):
        with pytest.raises(InvalidInput, match="is no name"):
            register_environment(bad, make_maze)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="pass a class or function"):
        register_environment("Instance", VectorEnv())  # type: ignore[type-var]


def test_module_and_attribute_also_from_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_own_envs.py").write_text(
        "import gymnasium as gym\n"
        "from gymnasium.envs.classic_control import CartPoleEnv\n"
        "def make_pole(gravity=9.8):\n"
        "    pole = CartPoleEnv()\n"
        "    pole.gravity = gravity\n"
        "    return pole\n"
        "gym.register('MyOwnPole-v3', entry_point=CartPoleEnv)\n"
    )
    (tmp_path / "my_broken_envs.py").write_text("import package_that_nobody_has\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    assert spaces_of("my_own_envs:make_pole", gravity=1.0) == (["obs"], 2)
    assert catalogue.canonical_name("my_own_envs:MyOwnPole-v3") == "my_own_envs:MyOwnPole-v3"
    assert spaces_of("my_own_envs:MyOwnPole-v3") == (["obs"], 2)
    with pytest.raises(InvalidInput, match="did you mean my_own_envs:make_pole"):
        catalogue.find("my_own_envs:make_pol")
    with pytest.raises(InvalidInput, match=r"importing my_broken_envs raised .*package_that_nobody_has"):
        catalogue.find("my_broken_envs:Env")
    del gym.registry["MyOwnPole-v3"]


def test_rllibs_registered_names() -> None:
    from ray.tune.registry import _unregister_envs, register_env

    register_env("pole-of-this-test", lambda config: StatelessCartPole(**config))
    try:
        assert catalogue.find("pole-of-this-test") is FAMILY
        assert spaces_of("pole-of-this-test", sutton_barto_reward=True) == (["obs"], 2)
    finally:
        _unregister_envs()


@pytest.mark.parametrize("parameter", ["config", "env_config"])
def test_classes_in_rllibs_manner_take_a_dictionary(parameter: str) -> None:
    class DictionaryEnv(VectorEnv):
        def __init__(self, config: Any) -> None:
            self.action_space = gym.spaces.Discrete(config.get("actions", 2))

    def make(env_config: Any) -> gym.Env:
        return DictionaryEnv(env_config)

    environment = DictionaryEnv if parameter == "config" else make
    assert spaces_of(environment) == (["obs"], 2)
    assert spaces_of(environment, actions=5, max_episode_steps=3) == (["obs"], 5)


def test_settings_reach_the_environment_and_unknown_ones_are_refused() -> None:
    catalogue.check_settings("CartPole-v1", contexts="3", sutton_barto_reward=True, max_episode_steps=9)
    envs = catalogue.make_vector_env("CartPole-v1", 1, sutton_barto_reward=True, max_episode_steps=2)
    envs.reset()
    steps = [envs.step([0]) for _ in range(2)]
    assert [step.reward[0] for step in steps] == [0.0, 0.0]
    assert steps[1].truncated[0]
    longer = catalogue.make_vector_env("MiniGrid-Empty-5x5-v0", 1, max_steps=3)
    longer.reset()
    assert [bool(longer.step([0]).truncated[0]) for _ in range(3)] == [False, False, True]
    for settings, message in (
        ({"sutton_barto": True}, "unknown environment setting 'sutton_barto'; did you mean sutton_barto_reward"),
        ({"max_episode_steps": 0}, "max_episode_steps 0"),
        ({"stagger": "yes"}, "stagger 'yes' cannot be used; allowed: true, false"),
        ({"won": "luck"}, "unknown value of won 'luck'"),
        ({"contexts": "many"}, "contexts 'many'"),
    ):
        with pytest.raises(InvalidInput, match=message):
            catalogue.check_settings("CartPole-v1", **settings)


def test_what_goes_wrong_when_an_environment_is_made() -> None:
    def unready() -> gym.Env:
        raise RuntimeError("no licence")

    def nothing() -> Any:
        return 5

    def several() -> Any:
        return gym.make_vec("CartPole-v1", 2)

    def picky(size: int) -> gym.Env:
        return VectorEnv()

    class SpacelessEnv(gym.Env):
        pass

    with pytest.raises(InvalidInput, match=r"unready raised RuntimeError when it was made: no licence .*names\.py:\d"):
        catalogue.check_settings(unready)
    with pytest.raises(InvalidInput, match=r"SpacelessEnv has no observation_space"):
        catalogue.check_settings(SpacelessEnv)
    with pytest.raises(InvalidInput, match=r"nothing made a int, which is no gymnasium.Env"):
        catalogue.check_settings(nothing)
    with pytest.raises(InvalidInput, match=r"several made a CartPoleVectorEnv; make one environment"):
        catalogue.check_settings(several)
    with pytest.raises(InvalidInput, match=r"picky cannot be made with \(\): TypeError: .*'size'"):
        catalogue.check_settings(picky)


def test_an_id_whose_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = gym.envs.registration.EnvSpec("Gone-v0", entry_point="package_that_nobody_has.envs:Env")
    monkeypatch.setitem(gym.registry, "Gone-v0", spec)
    with pytest.raises(InvalidInput, match=r"'Gone-v0' cannot be imported: .*package_that_nobody_has"):
        catalogue.check_settings("Gone-v0")

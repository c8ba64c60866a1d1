"""The vector env of a game: episodes, random streams, exact resumption, child processes."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from bonuslab.envs import catalogue
from bonuslab.envs.atari import AtariEnv, AtariVectorEnv
from bonuslab.envs.atari.seeds import env_seed
from bonuslab.envs.atari.sticky import StickyActions
from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.vector_env import EnvError, VectorStep

ACTIONS = np.random.default_rng(0).integers(18, size=(60, 2))
# Holding right makes the agent walk off the first ledge repeatedly, losing all lives within about 150 steps.
RIGHT = 3


@pytest.fixture(scope="module")
def envs() -> Iterator[AtariVectorEnv]:
    made = AtariVectorEnv("MontezumaRevenge", 2, seed=1, max_steps=25)
    yield made
    made.close()


@pytest.fixture(scope="module")
def fresh(envs: AtariVectorEnv) -> dict[str, Any]:
    """The state before the first episode; creating emulators is slow."""
    return envs.get_state()


def play(envs: AtariVectorEnv, actions: np.ndarray) -> list[Any]:
    """The results of all steps, in comparable form."""
    return [summary(envs.step(row)) for row in actions]


def summary(step: VectorStep) -> Any:
    finished = [
        (one.env_index, one.length, one.total_reward, one.end_status, one.metrics, digest(one.final_observation))
        for one in step.finished
    ]
    ends = (step.reward.tolist(), step.terminated.tolist(), step.truncated.tolist())
    return digest(step.observations), *ends, finished


def digest(observations: dict[str, np.ndarray]) -> dict[str, bytes]:
    return {key: rows.tobytes() for key, rows in observations.items()}


def test_env_0_equals_a_single_environment(envs: AtariVectorEnv, fresh: dict[str, Any]) -> None:
    envs.set_state(fresh)
    assert envs.contexts.tolist() == [-1, -1]
    first = {key: rows.copy() for key, rows in envs.reset().items()}
    assert envs.contexts.tolist() == [0, 0]
    env = AtariEnv("MontezumaRevenge", seed=1, max_steps=25)
    for env_index in range(2):
        assert envs.observation_space.contains({key: rows[env_index] for key, rows in first.items()})
    observation, _ = env.reset()
    np.testing.assert_array_equal(observation["frames"], first["frames"][0])
    differ = False
    for row in ACTIONS:
        row = np.array([row[0], row[0]])  # the same action in both envs
        step = envs.step(row)
        observation, reward, terminated, truncated, info = env.step(int(row[0]))
        assert (reward, terminated, truncated) == (step.reward[0], step.terminated[0], step.truncated[0])
        if truncated:
            ended = step.finished[0]
            assert (ended.env_index, ended.length, ended.end_status) == (0, 25, "step_limit")
            assert ended.total_reward == info["points"]
            assert ended.metrics == {"rooms": 1.0, "level": 0.0}
            assert ended.seen == {"rooms": {1}}
            for key, rows in observation.items():
                np.testing.assert_array_equal(ended.final_observation[key], rows)
            assert not np.array_equal(ended.final_observation["frames"], step.observations["frames"][0])
            observation, _ = env.reset()
        for key, rows in observation.items():
            np.testing.assert_array_equal(step.observations[key][0], rows)
        differ |= not np.array_equal(*step.observations["frames"])
    assert differ  # independent randomness in the other env
    assert envs.rooms_ever == {1}


def test_the_game_ends_with_the_last_life() -> None:
    env = AtariEnv("MontezumaRevenge", seed=2)
    env.reset()
    for _ in range(400):
        observation, _, terminated, truncated, info = env.step(RIGHT)
        if terminated or truncated:
            break
    assert terminated
    assert not truncated
    assert (info["lives"], info["end_status"]) == (0, "game_over")
    with pytest.raises(InvalidInput, match="after the end of the episode"):
        env.step(0)
    again, _ = env.reset(seed=2)
    assert env.observation_space.contains(again)
    assert not np.array_equal(again["frames"], observation["frames"])


def test_a_restored_state_resumes_exactly_across_episode_ends(envs: AtariVectorEnv, fresh: dict[str, Any]) -> None:
    envs.set_state(fresh)
    envs.reset()
    play(envs, ACTIONS[:33])
    state = pickle.loads(pickle.dumps(envs.get_state()))
    expected = play(envs, ACTIONS[33:])
    play(envs, ACTIONS[:7])  # elsewhere
    shown = envs.set_state(state)
    assert digest(shown) == digest(envs.set_state(state))
    assert play(envs, ACTIONS[33:]) == expected
    other = AtariVectorEnv("MontezumaRevenge", 2, seed=9, max_steps=25)  # another object with a different history
    other.reset()
    play(other, ACTIONS[:5])
    other.set_state(state)
    assert play(other, ACTIONS[33:]) == expected
    other.close()


def test_child_processes_give_the_same_steps(envs: AtariVectorEnv, fresh: dict[str, Any]) -> None:
    envs.set_state(fresh)
    start = digest(envs.reset())
    expected = play(envs, ACTIONS[:30])
    remote = AtariVectorEnv("MontezumaRevenge", 2, seed=1, max_steps=25, processes=2)
    try:
        assert digest(remote.reset()) == start
        assert play(remote, ACTIONS[:30]) == expected
        assert play(remote, ACTIONS[30:40]) == play(envs, ACTIONS[30:40])
        envs.set_state(remote.get_state())
        assert play(remote, ACTIONS[40:]) == play(envs, ACTIONS[40:])
        process = remote._groups[1]._process  # type: ignore[attr-defined]
        process.kill()
        process.wait()
        with pytest.raises(EnvError, match="the process of envs 1 to 1 died"):
            remote.step([0, 0])
    finally:
        remote.close()
        remote.close()


def test_seeds_streams_envs_and_held_out_runs_have_independent_randomness() -> None:
    default = {"seed": 1, "held_out": False, "stream": 0, "env_index": 0}
    others: list[dict[str, Any]] = [{}, {"seed": 2}, {"held_out": True}, {"stream": 1}, {"env_index": 1}]
    drawn = set()
    for other in others:
        sticky = StickyActions("frame", 0.25, env_seed(**{**default, **other}))
        drawn.add(tuple(tuple(sticky.actions(action)) for action in range(1, 18)))
    assert len(drawn) == len(others)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"contexts": "inf"}, "contexts 'inf' cannot be used on MontezumaRevenge; allowed: 1"),
        ({"contexts": 3}, "contexts 3"),
        ({"seed": -1}, "seed -1"),
        ({"stream": 1.5}, "stream 1.5"),
        ({"max_steps": 0}, "max_steps 0"),
        ({"processes": -1}, "processes -1"),
        ({"sticky": "never"}, "kind of sticky actions 'never'"),
        ({"sticky_probability": "often"}, "sticky_probability 'often'"),
        ({"stiky": "step"}, "unknown environment setting 'stiky'; did you mean sticky"),
    ],
)
def test_invalid_settings_are_rejected(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(InvalidInput, match=text):
        catalogue.make_vector_env("MontezumaRevenge", 1, **settings)
    if not {"seed", "stream"} & set(settings):  # which users do not set
        with pytest.raises(InvalidInput, match=text):
            catalogue.check_settings("MontezumaRevenge", **settings)


def test_invalid_actions_and_states_are_rejected(envs: AtariVectorEnv, fresh: dict[str, Any]) -> None:
    envs.set_state(fresh)
    with pytest.raises(InvalidInput, match="step before reset"):
        envs.step([0, 0])
    envs.reset()
    with pytest.raises(InvalidInput, match=r"actions of shape \(1,\)"):
        envs.step([0])
    with pytest.raises(InvalidInput, match="action 18 cannot be used"):
        envs.step([0, 18])
    with pytest.raises(InvalidInput, match="does not fit"):
        envs.set_state({**fresh, "envs": fresh["envs"][:1]})


def test_games_without_a_known_memory_show_only_frames() -> None:
    envs = AtariVectorEnv("ALE/Pong-v5", 2, seed=1, max_steps=150)
    remote = AtariVectorEnv("Pong", 2, seed=1, max_steps=150, processes=2)
    try:
        assert list(envs.observation_space) == ["frames"]
        assert envs.action_space.n == 6
        assert digest(remote.reset()) == digest(envs.reset())
        moves = np.random.default_rng(3).integers(6, size=(150, 2))
        played = play(envs, moves[:100])
        assert play(remote, moves[:100]) == played
        assert min(reward for _, rewards, *_ in played for reward in rewards) == -1
        state = pickle.loads(pickle.dumps(remote.get_state()))
        expected = play(remote, moves[100:])
        envs.reset()
        envs.set_state(state)
        assert play(envs, moves[100:]) == expected
        ended = [one for *_, finished in expected for one in finished]
        assert [(length, status, metrics) for _, length, _, status, metrics, _ in ended] == [
            (150, "step_limit", {})
        ] * 2
        with pytest.raises(InvalidInput, match="action 6 cannot be used on Pong; allowed: 0 NOOP, 1 FIRE"):
            envs.step([0, 6])
        with pytest.raises(InvalidInput, match=r"2 envs of Pong with .* does not fit 1 envs of MontezumaRevenge"):
            AtariVectorEnv("MontezumaRevenge", 1).set_state(state)
    finally:
        envs.close()
        remote.close()


def test_the_family_is_found_by_name() -> None:
    assert catalogue.canonical_name("montezuma") == "MontezumaRevenge"
    catalogue.check_settings("montezuma", contexts="1", sticky="step", processes=2, max_steps=100)
    with pytest.raises(InvalidInput, match="unknown environment 'MontezumasRevenge'; did you mean MontezumaRevenge"):
        catalogue.canonical_name("MontezumasRevenge")

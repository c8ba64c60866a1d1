"""The Gymnasium environment: seeding, contexts, endings, errors, and exact restoration."""

from __future__ import annotations

import hashlib
import pickle
import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.minihack import TASKS, MiniHackEnv, make

PLAY = """
import hashlib, sys
import numpy as np
from bonuslab.envs.minihack import make
task, context = sys.argv[1], int(sys.argv[2])
env = make(task)
rng = np.random.default_rng(0)
digest = hashlib.sha256()
observation, info = env.reset(options={"context": context})
for _ in range(200):
    for key in sorted(observation):
        digest.update(observation[key].tobytes())
    observation, reward, terminated, truncated, info = env.step(int(rng.integers(env.action_space.n)))
    digest.update(repr((reward, terminated, truncated, info)).encode())
    if terminated or truncated:
        context += 1
        observation, info = env.reset(options={"context": context})
print(digest.hexdigest())
"""


@pytest.fixture
def env() -> Iterator[MiniHackEnv]:
    made = make("MultiRoom-N6-Lava")
    yield made
    made.close()


def _equal(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[key], other[key]) for key in one)


@pytest.mark.parametrize("name", ["MultiRoom-N6-Lava", "KeyRoom-S10", "Freeze-Horn-Restricted", "LavaCrossingS19N13"])
def test_passes_gymnasiums_env_checker(name: str) -> None:
    checked = make(name, render_mode="rgb_array")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*(not within the observation space|spec).*")
        check_env(checked)


@pytest.mark.parametrize("name", sorted(TASKS))
def test_every_task_is_registered_and_can_be_played(name: str) -> None:
    made = gym.make(f"bonuslab/{name}", contexts=3)
    observation, info = made.reset(seed=0)
    assert made.observation_space.contains(observation)
    assert set(info) == {"context", "end_status"}
    assert info["end_status"] == "running"
    observation, *_ = made.step(made.action_space.sample())
    assert made.observation_space.contains(observation)
    made.close()


@pytest.mark.parametrize("name", ["MultiRoom-N6-LavaMonsters", "Corridor-R5", "WoD-Hard-Restricted"])
def test_two_processes_observe_the_same(name: str) -> None:
    command = [sys.executable, "-W", "ignore", "-c", PLAY, name, "123456789"]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    first, second = (run.communicate()[0].strip() for run in runs)
    assert len(first) == hashlib.sha256().digest_size * 2
    assert first == second


def test_the_same_seed_gives_the_same_contexts(env: MiniHackEnv) -> None:
    def sequence(seed: int) -> list[int]:
        first = env.reset(seed=seed)[1]["context"]
        return [first] + [env.reset()[1]["context"] for _ in range(4)]

    assert sequence(5) == sequence(5)
    assert sequence(5) != sequence(6)


def test_finite_contexts_repeat() -> None:
    three = make("MultiRoom-N6-Lava", contexts="3", seed=2)
    seen = {three.reset()[1]["context"] for _ in range(40)}
    assert seen == set(three.contexts.ids or ())
    three.close()


def test_a_context_determines_the_episode(env: MiniHackEnv) -> None:
    def play() -> list[Any]:
        observation, _ = env.reset(options={"context": 42})
        seen: list[Any] = [observation]
        for action in (0, 1, 2, 3, 4, 5):
            observation, reward, terminated, _, _ = env.step(action)
            seen += [observation, reward]
            if terminated:
                break
        return seen

    first, second = play(), play()
    assert len(first) == len(second)
    for one, other in zip(first, second, strict=True):
        assert _equal(one, other) if isinstance(one, dict) else one == other
    assert env.reset(options={"context": 43})[1]["context"] == 43


def test_observations_are_not_overwritten(env: MiniHackEnv) -> None:
    first, _ = env.reset(seed=0)
    copy = {key: array.copy() for key, array in first.items()}
    env.step(0)
    env.reset()
    assert _equal(first, copy)


def test_the_step_limit_truncates() -> None:
    short = make("MultiRoom-N10", max_steps=3)
    short.reset(seed=0)
    endings = [short.step(0)[2:] for _ in range(3)]
    assert [(terminated, truncated) for terminated, truncated, _ in endings] == [(False, False)] * 2 + [(False, True)]
    assert endings[-1][2]["end_status"] == "step_limit"
    short.close()


def test_death_terminates(env: MiniHackEnv) -> None:
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    terminated = False
    while not terminated:
        _, reward, terminated, truncated, info = env.step(int(rng.integers(8)))
    assert not truncated
    assert info["end_status"] == "died"
    assert reward in (0.0, -0.01)


def test_a_step_that_takes_no_time_is_penalised() -> None:
    room = make("Labyrinth-Big")
    room.reset(seed=0)
    rewards = [room.step(0)[1] for _ in range(2)]  # there is a wall to the north
    assert rewards == [-0.01, -0.01]
    room.close()


def test_the_penalty_can_be_disabled() -> None:
    room = make("Labyrinth-Big", penalty_step=0)
    room.reset(seed=0)
    assert room.step(0)[1] == 0.0
    room.close()


@pytest.mark.parametrize("bad", [-1, 8, 1.0, "N", None, True])
def test_an_invalid_action_is_rejected(env: MiniHackEnv, bad: Any) -> None:
    env.reset(seed=0)
    with pytest.raises(InvalidInput, match="allowed: 0 N, 1 E") as caught:
        env.step(bad)
    assert repr(bad) in str(caught.value)


def test_numpy_actions_are_accepted() -> None:
    rooms = make("MultiRoom-N10")
    rooms.reset(options={"context": 1})
    rooms.step(np.int64(2))  # type: ignore[arg-type]
    rooms.step(np.array(3))  # type: ignore[arg-type]
    rooms.close()


def test_step_needs_a_running_episode(env: MiniHackEnv) -> None:
    with pytest.raises(InvalidInput, match="before the first reset"):
        env.step(0)
    one = make("MultiRoom-N10", max_steps=1)
    one.reset(seed=0)
    one.step(0)
    with pytest.raises(InvalidInput, match="after the end of the episode"):
        one.step(0)
    one.close()


@pytest.mark.parametrize("bad", [-1, 2**48, "seven", 1.5])
def test_an_invalid_context_is_rejected(env: MiniHackEnv, bad: Any) -> None:
    with pytest.raises(InvalidInput, match="allowed: whole numbers from 0 to") as caught:
        env.reset(options={"context": bad})
    assert repr(bad) in str(caught.value)


def test_other_invalid_input_is_rejected(env: MiniHackEnv) -> None:
    with pytest.raises(InvalidInput, match="did you mean context"):
        env.reset(options={"contxt": 3})
    with pytest.raises(InvalidInput, match="max_steps 0"):
        make("MultiRoom-N6-Lava", max_steps=0)
    with pytest.raises(InvalidInput, match="penalty_step 1 cannot"):
        make("MultiRoom-N6-Lava", penalty_step=1)
    with pytest.raises(InvalidInput, match="render mode 'ansii'"):
        make("MultiRoom-N6-Lava", render_mode="ansii")


@pytest.mark.parametrize("name", ["MultiRoom-N6-LavaMonsters", "KeyRoom-S5", "LavaCross-Restricted"])
def test_a_restored_env_resumes_exactly(name: str) -> None:
    original, restored = make(name, seed=9), make(name, seed=9)
    rng = np.random.default_rng(1)
    num_actions = int(original.action_space.n)  # type: ignore[attr-defined]
    original.reset()
    ended = False
    for _ in range(3):
        for _ in range(4):
            if not ended:
                observation, _, terminated, truncated, _ = original.step(int(rng.integers(num_actions)))
                ended = terminated or truncated
        state = pickle.loads(pickle.dumps(original.get_state()))
        assert _equal(restored.set_state(state), observation)
        for _ in range(30):
            if ended:
                (one, first), (other, second) = original.reset(), restored.reset()
                assert first == second
                assert _equal(one, other)
            action = int(rng.integers(num_actions))
            (one, *first_rest), (other, *second_rest) = original.step(action), restored.step(action)
            assert _equal(one, other)
            assert first_rest == second_rest
            observation, ended = one, first_rest[1] or first_rest[2]
    original.close()
    restored.close()


def test_a_state_of_another_task_is_rejected(env: MiniHackEnv) -> None:
    other = make("MultiRoom-N10")
    with pytest.raises(InvalidInput, match="does not fit"):
        env.set_state(other.get_state())
    other.close()


def test_render_modes() -> None:
    text = make("MultiRoom-N6-Lava", render_mode="ansi")
    text.reset(seed=0)
    assert "@" in text.render()
    text.close()
    picture = make("MultiRoom-N6-Lava", render_mode="rgb_array")
    picture.reset(seed=0)
    assert picture.render().shape[2] == 3
    picture.close()

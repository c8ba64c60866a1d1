"""HM3D vector envs: simulators that die, scenes that are kept, episodes that are staggered."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bonuslab.envs.habitat import HabitatVectorEnv
from bonuslab.envs.habitat.vector_env import MOST_DEATHS
from bonuslab.envs.vector_env import EnvError

from . import fake_habitat_sim as fake


@pytest.fixture(autouse=True)
def habitat_sim(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Processes find the fake under the real one's name."""
    folder = tmp_path_factory.mktemp("fake")
    shutil.copy(fake.__file__, folder / "habitat_sim.py")
    monkeypatch.syspath_prepend(folder)
    yield
    sys.modules.pop("habitat_sim", None)


@pytest.fixture
def make(data: Path) -> Iterator[Any]:
    """Makes vector envs and closes them after the test."""
    made: list[HabitatVectorEnv] = []

    def make_envs(num_envs: int, **settings: Any) -> HabitatVectorEnv:
        settings = {"size": 32, "data_path": data, "gpu_device": -1, "stagger": False, **settings}
        made.append(HabitatVectorEnv("hm3d", num_envs, **settings))
        return made[-1]

    yield make_envs
    for envs in made:
        envs.close()


def kill(envs: HabitatVectorEnv, env_index: int) -> None:
    process = envs._episodes[env_index]._simulator._process  # type: ignore[attr-defined]
    process.kill()
    process.wait()


def test_a_killed_simulator_is_restarted_and_counted(make: Any) -> None:
    envs = make(2, max_steps=6)
    envs.reset()
    before = {key: array.copy() for key, array in envs.step([1, 1]).observations.items()}
    kill(envs, 0)
    step = envs.step([1, 1])
    (finished,) = step.finished
    assert (finished.env_index, finished.end_status, finished.length) == (0, "simulator_died", 1)
    assert step.truncated.tolist() == [True, False]
    np.testing.assert_array_equal(finished.final_observation["gps"], before["gps"][0])
    np.testing.assert_array_equal(step.observations["gps"][0], [0, 0])  # a new episode
    assert step.observations["gps"][1] == pytest.approx([0.5, 0], abs=1e-6)
    assert [len(numbers) for numbers in finished.seen.values()] == [0]  # the death itself is counted when it restarts
    for _ in range(6):
        step = envs.step([2, 2])
    counts = {name: len(numbers) for episode in step.finished for name, numbers in episode.seen.items()}
    assert counts == {"simulator_restarts": 1}


def test_repeated_deaths_give_up(make: Any) -> None:
    envs = make(1)
    envs.reset()
    for _ in range(MOST_DEATHS - 1):
        kill(envs, 0)
        assert envs.step([1]).truncated.all()
    kill(envs, 0)
    with pytest.raises(EnvError, match=r"env 0 of 1, hm3d, context \d+: habitat-sim ended with status -9"):
        envs.step([1])


def test_whole_episodes_between_deaths_forgive_them(make: Any) -> None:
    envs = make(1, max_steps=1)
    envs.reset()
    for _ in range(MOST_DEATHS + 1):
        kill(envs, 0)
        assert envs.step([1]).finished[0].end_status == "simulator_died"
        assert envs.step([1]).finished[0].end_status == "step_limit"


def test_a_simulator_that_never_works_says_why(make: Any) -> None:
    envs = make(1, gpu_device=0)
    with pytest.raises(EnvError, match=r"status 1: .*unable to find CUDA device 0 among 1 EGL devices"):
        envs.reset()


def test_scenes_load_in_parallel(make: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    meeting = tmp_path / "loading"
    meeting.mkdir()
    monkeypatch.setenv("FAKE_LOADING", str(meeting))  # no one finishes loading until both have started
    monkeypatch.setenv("FAKE_MEETING_SIZE", "2")
    make(2).reset()
    assert len(list(meeting.iterdir())) == 2


def test_staggered_episodes_end_one_after_another(make: Any) -> None:
    envs = make(2, max_steps=4, stagger=None)
    envs.reset()
    ends, how = [], []
    for _ in range(8):
        step = envs.step([1, 1])
        ends.append(np.flatnonzero(step.truncated).tolist())
        how += [(episode.end_status, episode.had_less_time) for episode in step.finished]
    assert ends == [[], [0], [], [1], [], [0], [], [1]]
    assert how == [("shortened", True), *[("step_limit", False)] * 3]


def test_staggered_episodes_resume(make: Any) -> None:
    envs, other = make(2, max_steps=4, stagger=True), make(2, max_steps=4, stagger=True)
    envs.reset()
    envs.step([1, 2])
    assert other.set_state(envs.get_state())["gps"][0] == pytest.approx([0.25, 0], abs=1e-6)
    for _ in range(4):
        one, two = envs.step([1, 1]), other.step([1, 1])
        np.testing.assert_array_equal(one.truncated, two.truncated)
        np.testing.assert_array_equal(envs.contexts, other.contexts)


def test_scenes_are_kept_in_training_only(make: Any) -> None:
    for settings, steps in (({}, 10_000), ({"held_out": True}, 0), ({"scene_steps": 7}, 7)):
        assert make(1, **settings)._samplers[0]._scene_steps == steps

"""A small configuration of IMPALA, toy environments without a game, and replicas in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch.distributed as dist
from ray import cloudpickle

from bonuslab.algorithms.data.synthetic import NUM_ACTIONS, OBSERVATION_SPACE
from bonuslab.algorithms.impala.config import IMPALAConfig
from bonuslab.algorithms.impala.hyperparameters import LAPTOP
from bonuslab.algorithms.learning.collectives import Collectives, Rendezvous
from bonuslab.envs.vector_env import FinishedEpisode, Observations, VectorStep

# Workers cannot import what lies under tests/: its classes travel by value.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


@pytest.fixture(scope="session")
def make_config() -> Callable[..., IMPALAConfig]:
    """`make_config(bonus, envs=…, steps=…, **env_config)`: the laptop preset, small; an update takes milliseconds."""

    def small(bonus: str = "count.global(position)", envs: int = 4, steps: int = 8, **env: Any) -> IMPALAConfig:
        config = IMPALAConfig().environment("MultiRoom-N2-S4", env_config={"contexts": "inf", **env})
        config.apply(LAPTOP.values)
        config.env_runners(num_envs_per_env_runner=envs, rollout_fragment_length=steps, num_env_runners=1)
        config.training(num_epochs=1, num_minibatches=2)
        config.min_time_s_per_iteration = 0.0
        return config.bonus(bonus)

    return small


@pytest.fixture
def connected() -> Iterator[Callable[[int], list[Collectives]]]:
    """`connected(n)` makes n replicas in this process, each for a thread of its own."""
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    made: list[Collectives] = []

    def connect(size: int) -> list[Collectives]:
        name = f"test/{len(made)}"
        with ThreadPoolExecutor(size) as pool:
            places = [Rendezvous("127.0.0.1", store.port, name, rank, size, 10_000.0) for rank in range(size)]
            made.extend(pool.map(lambda place: place.join("127.0.0.1", on_gpu=False), places))
        return made[-size:]

    yield connect
    for replica in made:
        replica.close()


@pytest.fixture(scope="session")
def wait_until_gone(wait_until: Callable[..., Any]) -> Callable[..., None]:
    """`wait_until_gone(pid, …)`: returns when these processes have ended."""

    def gone(pid: int) -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
        except OSError:
            return True

    return lambda *pids: wait_until(lambda: all(map(gone, pids)))


@pytest.fixture
def running() -> Iterator[Callable[[Any], Any]]:
    """`running(config)` builds the algorithm and stops it after the test, whatever happens."""
    started: list[Any] = []

    def start(config: Any) -> Any:
        started.append(config.build_algo())
        return started[-1]

    yield start
    for algorithm in started:
        algorithm.stop()


class ToyVectorEnv:
    """Random walks that are won, lost or cut after `limit` steps; env i does the same whatever the other envs do."""

    observation_space = OBSERVATION_SPACE

    def __init__(self, envs: list[int], limit: int = 6) -> None:
        from gymnasium.spaces import Discrete

        self.action_space = Discrete(NUM_ACTIONS)
        self.num_envs = len(envs)
        self.limit = limit
        self._random = [np.random.default_rng(env_index) for env_index in envs]

    @property
    def contexts(self) -> np.ndarray:
        return self._context.copy()

    def reset(self, out: Observations | None = None) -> Observations:
        self._position = np.zeros((self.num_envs, 2), np.int64)
        self._context = np.zeros(self.num_envs, np.int64)
        self._age = np.zeros(self.num_envs, np.int64)
        self._total = np.zeros(self.num_envs)
        for env_index in range(self.num_envs):
            self._begin(env_index)
        return self._observe()

    def step(self, actions: np.ndarray, out: Observations | None = None) -> VectorStep:
        self._position += np.stack([actions % 3 - 1, actions // 3 - 1], 1)
        self._position = np.clip(self._position, 0, 9)
        self._age += 1
        reward = (actions == 2).astype(np.float32)
        self._total += reward
        terminated = (self._position.sum(1) + self._age) % 7 == 0
        truncated = ~terminated & (self._age >= self.limit)
        after = self._observe()
        finished = []
        for env_index in np.flatnonzero(terminated | truncated):
            final = {key: rows[env_index].copy() for key, rows in after.items()}
            status = "won" if terminated[env_index] else "step_limit"
            finished.append(
                FinishedEpisode(
                    int(env_index),
                    int(self._context[env_index]),
                    int(self._age[env_index]),
                    float(self._total[env_index]),
                    status,
                    final,
                )
            )
            self._begin(env_index)
        observations = self._observe()
        for key, rows in observations.items():
            if out is not None:
                out[key][:] = rows
        return VectorStep(observations, reward, terminated, truncated, finished)

    def _begin(self, env_index: int) -> None:
        self._position[env_index] = self._random[env_index].integers(10, size=2)
        self._context[env_index] = self._random[env_index].integers(1 << 40)
        self._age[env_index] = self._total[env_index] = 0

    def _observe(self) -> Observations:
        rows = np.arange(self.num_envs)
        glyphs = np.full((self.num_envs, 21, 79), 2359, np.int16)
        glyphs[rows, 5 + self._position[:, 1], 30 + self._position[:, 0]] = 337
        blstats = np.zeros((self.num_envs, 27), np.int64)
        blstats[:, 0], blstats[:, 1], blstats[:, 10] = 30 + self._position[:, 0], 5 + self._position[:, 1], self._age
        return {"glyphs": glyphs, "blstats": blstats, "message": np.zeros((self.num_envs, 256), np.uint8)}

    def close(self) -> None:
        """Nothing to close."""


@pytest.fixture
def toy_vector_env() -> type[ToyVectorEnv]:
    """The class `ToyVectorEnv`."""
    return ToyVectorEnv

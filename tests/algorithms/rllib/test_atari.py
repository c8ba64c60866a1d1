"""Atari games with both algorithms: exact resume, and what all runners together have seen."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ray import cloudpickle

from bonuslab.algorithms.acting.runner import EpisodeSummary, FragmentRunner
from bonuslab.algorithms.catalogue import ALGORITHMS, find
from bonuslab.algorithms.ddppo.worker import DDPPOWorker
from bonuslab.algorithms.rllib.config import FragmentConfig

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import tests
PRESETS = {"impala": "laptop", "ddppo": "montezuma"}
ENVS, STEPS = 2, 8


class Rooms:
    """Makes every runner start with a room of its own among those it has seen."""

    worker_index: int
    env: Any

    def make_env(self) -> None:
        super().make_env()  # type: ignore[misc]
        self.env._rooms_ever.add(10 + self.worker_index)


class Runner(Rooms, FragmentRunner):
    pass


class Worker(Rooms, DDPPOWorker):
    pass


def small(name: str, game: str, bonus: str, **env: Any) -> FragmentConfig:
    entry = find(name)
    config = entry.config().environment(game, env_config={"contexts": "1", **env})
    config.apply(entry.preset(PRESETS[name]).values).training(num_epochs=1, num_minibatches=2)
    config.env_runners(num_envs_per_env_runner=ENVS, rollout_fragment_length=STEPS)
    if name == "ddppo":
        config.training(warm_up_steps=0)
    return config.bonus(bonus).debugging(seed=0)


def weights(algorithm: Any) -> dict[str, np.ndarray]:
    return {name: np.array(part) for name, part in algorithm.learner_group.get_weights()["default_policy"].items()}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_any_game_trains_and_resumes_exactly(name: str, running: Any, tmp_path: Path) -> None:
    config = small(name, "ALE/Pong-v5", "count.episodic(pixels)", max_steps=10)
    algorithm = running(config.run_serially())
    algorithm.train()
    path = algorithm.save_to_path(tmp_path / "checkpoint")
    before = weights(algorithm)
    expected = algorithm.train()
    assert expected["env_runners"]["episode_len_mean"] == 10
    assert "episode_metrics" not in expected["env_runners"]
    restored = type(algorithm).from_checkpoint(path)
    restored.train()
    after = weights(algorithm)
    assert any(not np.array_equal(before[part], after[part]) for part in before)
    for part, values in weights(restored).items():
        np.testing.assert_array_equal(values, after[part])
    restored.stop()


def test_rooms_ever_is_the_union_over_episodes_and_survives_a_checkpoint(running: Any, tmp_path: Path) -> None:
    algorithm = running(small("ddppo", "MontezumaRevenge", "none", max_steps=5).run_serially())
    seen = [{1, 2}, {1, 7}, {1, 2}]
    algorithm._add_episodes([EpisodeSummary(0.0, 5, False, {}, {"rooms": frozenset(rooms)}) for rooms in seen])
    path = algorithm.save_to_path(tmp_path / "checkpoint")
    assert algorithm.train()["env_runners"]["episode_metrics"] == {"rooms": 1.0, "level": 0.0, "rooms_ever": 3.0}
    restored = type(algorithm).from_checkpoint(path)
    assert restored.train()["env_runners"]["episode_metrics"]["rooms_ever"] == 3.0
    restored.stop()


@pytest.mark.cluster
@pytest.mark.parametrize("name", ["impala", pytest.param("ddppo", marks=pytest.mark.slow)])
def test_rooms_ever_is_the_union_over_two_runners(name: str, cluster: None) -> None:
    config = small(name, "MontezumaRevenge", "none", max_steps=5)
    runner = {"impala": Runner, "ddppo": Worker}[name]
    config.env_runners(num_env_runners=2, num_cpus_per_env_runner=0.5, env_runner_cls=runner)
    algorithm = config.build_algo()
    try:
        rooms = 0.0
        for _ in range(40):  # IMPALA's first batches may all be of one runner
            rooms = algorithm.train()["env_runners"]["episode_metrics"]["rooms_ever"]
            if rooms == 3:
                break
        assert rooms == 3  # the first room, and the one that each runner has to itself
    finally:
        algorithm.stop()

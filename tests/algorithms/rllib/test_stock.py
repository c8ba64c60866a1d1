"""RLlib's own algorithms with our intrinsic reward."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from ray import cloudpickle
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.appo import APPOConfig
from ray.rllib.algorithms.dqn import DQNConfig
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.algorithms.sac import SACConfig
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.core.columns import Columns
from ray.rllib.env.multi_agent_episode import MultiAgentEpisode

from bonuslab.envs.errors import InvalidInput
from bonuslab.rllib import IntrinsicReward

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import tests
pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("cluster", "one_thread")]
CELLS = 16
COMBINATION = np.random.default_rng(0).integers(2, size=CELLS)
SMALL = {"fcnet_hiddens": [32]}


class Lock(gym.Env):
    """Sixteen cells, a right action in each; the wrong one leads back to the first. Only the end pays.

    A random policy gets there once in 2^16 attempts, of which an episode has about 30.
    """

    observation_space = gym.spaces.Box(0, 1, (CELLS + 1,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, _: Any = None) -> None:
        self._cell = self._steps = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._cell = self._steps = 0
        return self._seen(), self._info()

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self._steps += 1
        self._cell = self._cell + 1 if action == COMBINATION[self._cell] else 0
        won = self._cell == CELLS
        return self._seen(), float(won), won, self._steps >= 64 and not won, self._info()

    def _seen(self) -> np.ndarray:
        return np.eye(CELLS + 1, dtype=np.float32)[self._cell]

    def _info(self) -> dict[str, Any]:
        return {"agent_position": (self._cell, 0)}


class Double(ConnectorV2):
    """A user's own connector: doubles the rewards."""

    def __call__(self, *, batch: Any, episodes: Any, **_: Any) -> Any:
        for episode in episodes:
            rewards = 2 * episode.get_rewards(slice(0, len(episode)))
            self.add_n_batch_items(batch, Columns.REWARDS, rewards, len(episode), episode)
        return batch


@pytest.fixture(scope="module")
def one_thread() -> Any:
    """Small networks are ten times faster on one thread of a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def ppo(env: Any = "CartPole-v1", seed: int = 0, **model: Any) -> PPOConfig:
    config = PPOConfig().environment(env).debugging(seed=seed, log_level="ERROR")
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=4, rollout_fragment_length=32)
    config.training(train_batch_size=128, minibatch_size=64, num_epochs=2)
    return config.rl_module(model_config=SMALL | model)


def weights_after(config: PPOConfig, running: Callable[[Any], Any], updates: int = 3) -> list[np.ndarray]:
    algorithm = running(config)
    for _ in range(updates):
        algorithm.train()
    return [value.numpy() for value in algorithm.get_module().state_dict().values()]


def reported(results: dict[str, Any]) -> Any:
    return results["learners"]["__all_modules__"]["intrinsic_reward"]


def test_imports_from_anywhere(tmp_path: Path) -> None:
    code = "import bonuslab.rllib; print(bonuslab.rllib.IntrinsicReward.__name__)"
    found = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "IntrinsicReward"


@pytest.mark.parametrize(
    "model",
    [pytest.param({}, marks=pytest.mark.slow), {"use_lstm": True, "lstm_cell_size": 16, "max_seq_len": 8}],
)
def test_only_the_coefficient_changes_the_weights(model: dict[str, Any], running: Callable[[Any], Any]) -> None:
    plain = weights_after(ppo(**model), running)
    without = weights_after(IntrinsicReward.add_to(ppo(**model), "e3b * rnd", coefficient=0.0), running)
    large = weights_after(IntrinsicReward.add_to(ppo(**model), "e3b * rnd", coefficient=10.0), running)
    for expected, found in zip(plain, without, strict=True):
        np.testing.assert_array_equal(expected, found)
    assert any((expected != found).any() for expected, found in zip(plain, large, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("bonus", ["none", "count.episodic(agent_position)", "e3b"])
def test_ppo_learns_only_with_a_bonus(bonus: str, running: Callable[[Any], Any]) -> None:
    config = ppo(Lock, fcnet_hiddens=[64])
    config.env_runners(num_envs_per_env_runner=8, rollout_fragment_length=64)
    config.training(train_batch_size=512, minibatch_size=128, num_epochs=6, lr=1e-3, entropy_coeff=0.01, gamma=0.95)
    algorithm = running(IntrinsicReward.add_to(config, bonus, coefficient=0.1))
    results = [algorithm.train() for _ in range(20)]
    returns = [result["env_runners"].get("episode_return_mean", 0.0) for result in results]
    if bonus == "none":
        assert max(returns) == 0.0
        assert reported(results[-1])["bonus"]["mean"] == 0.0
    else:
        # The reported return is the extrinsic one: 1 at most, although the bonus adds more.
        assert 0.9 <= np.mean(returns[-3:]) <= 1.0
        assert reported(results[-1])["bonus"]["mean"] > 0.05
        assert reported(results[-1])["reward_extrinsic"]["mean"] == pytest.approx(1 / CELLS, abs=0.03)


def test_follows_the_users_connectors(running: Callable[[Any], Any]) -> None:
    config = ppo().learners(learner_connector=lambda _, __: Double())
    doubled = weights_after(ppo().learners(learner_connector=lambda _, __: Double()), running, updates=1)
    found = weights_after(IntrinsicReward.add_to(config, "rnd", coefficient=0.0), running, updates=1)
    for expected, value in zip(doubled, found, strict=True):
        np.testing.assert_array_equal(expected, value)


def test_checkpoints_keep_the_bonus(running: Callable[[Any], Any], tmp_path: Path) -> None:
    algorithm = running(IntrinsicReward.add_to(ppo(), "e3b * count.global(observation)"))
    for _ in range(2):
        algorithm.train()
    algorithm.save_to_path(tmp_path / "checkpoint")
    restored = Algorithm.from_checkpoint(str(tmp_path / "checkpoint"))
    try:
        episodes = algorithm.env_runner.sample(num_timesteps=64)
        mine, other = (
            made.learner_group._learner._learner_connector[IntrinsicReward][0] for made in (algorithm, restored)
        )
        fresh = IntrinsicReward("e3b * count.global(observation)")
        rewards = [piece(batch={}, episodes=episodes)[Columns.REWARDS] for piece in (mine, other, fresh)]
        for key, (expected,) in rewards[0].items():
            np.testing.assert_array_equal(rewards[1][key][0], expected)
            assert (rewards[2][key][0] != expected).any()
        restored.train()
    finally:
        restored.stop()


@pytest.mark.parametrize("kind", [IMPALAConfig, pytest.param(APPOConfig, marks=pytest.mark.slow)])
def test_asynchronous_algorithms_train(
    kind: type[AlgorithmConfig], running: Callable[[Any], Any], wait_until: Callable[..., Any]
) -> None:
    config = kind().environment("CartPole-v1").rl_module(model_config=SMALL)
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=2, rollout_fragment_length=20)
    config.training(train_batch_size_per_learner=80, broadcast_interval=1).reporting(min_time_s_per_iteration=1)
    algorithm = running(IntrinsicReward.add_to(config, "e3b * rnd", coefficient=0.1))
    # The learner is another process, whose first update builds the models: its results arrive iterations later.
    results = wait_until(lambda: found if "learners" in (found := algorithm.train()) else None)
    assert reported(results)["bonus"]["mean"] > 0
    assert reported(results)["reward_extrinsic"]["mean"] == 1.0
    assert results["learners"]["default_policy"]["total_loss"] != 0


@pytest.mark.parametrize(
    ("kind", "env"), [pytest.param(DQNConfig, "CartPole-v1", marks=pytest.mark.slow), (SACConfig, "Pendulum-v1")]
)
def test_off_policy_algorithms_train(kind: type[AlgorithmConfig], env: str, running: Callable[[Any], Any]) -> None:
    config = kind().environment(env).env_runners(num_env_runners=0)
    config.training(train_batch_size_per_learner=8, num_steps_sampled_before_learning_starts=20)
    config.reporting(min_sample_timesteps_per_iteration=30)
    results = running(IntrinsicReward.add_to(config, "rnd", coefficient=0.1)).train()
    assert reported(results)["bonus"]["mean"] > 0
    assert reported(results)["learn"]["rnd"]["predictor_loss"] > 0


def test_off_policy_algorithms_refuse_episodic_bonuses() -> None:
    for bonus in ("e3b", "e3b * rnd"):
        with pytest.raises(InvalidInput, match="use global terms only"):
            IntrinsicReward.add_to(DQNConfig(), bonus)


def test_a_learner_that_would_not_save_the_bonus_is_refused(running: Callable[[Any], Any]) -> None:
    config = ppo().learners(learner_connector=lambda _, __: IntrinsicReward("rnd"))
    with pytest.raises(InvalidInput, match=r"use IntrinsicReward.add_to\(config, 'rnd'\)"):
        running(config).train()
    config = IntrinsicReward.add_to(ppo(), "rnd")
    with pytest.raises(InvalidInput, match="after setting a learner class of your own"):
        running(config.learners(learner_class=config.get_default_learner_class())).train()


def test_sums_of_several_steps_are_refused(running: Callable[[Any], Any]) -> None:
    config = DQNConfig().environment("CartPole-v1").env_runners(num_env_runners=0)
    config.training(n_step=3, num_steps_sampled_before_learning_starts=10)
    with pytest.raises(InvalidInput, match="set n_step=1"):
        running(IntrinsicReward.add_to(config, "rnd")).train()


def test_what_cannot_work_is_refused() -> None:
    with pytest.raises(InvalidInput, match="unknown bonus"):
        IntrinsicReward.add_to(PPOConfig(), "e3c")
    with pytest.raises(InvalidInput, match="needs the policy's features"):
        IntrinsicReward.add_to(PPOConfig(), "e3b(encoder=policy)")
    with pytest.raises(InvalidInput, match="single-agent"):
        IntrinsicReward("rnd")(batch={}, episodes=[MultiAgentEpisode()])
    config = IMPALAConfig().environment("CartPole-v1").env_runners(num_env_runners=0)
    IntrinsicReward.add_to(config, "rnd").learners(num_aggregator_actors_per_learner=1)
    with pytest.raises(InvalidInput, match="num_aggregator_actors_per_learner=0"):
        config.build_learner(env=gym.make("CartPole-v1"))


@pytest.mark.slow
def test_learners_share_one_bonus(running: Callable[[Any], Any], tmp_path: Path) -> None:
    config = IntrinsicReward.add_to(ppo(Lock), "count.global(observation) * e3b", coefficient=0.1)
    config.learners(num_learners=2).training(train_batch_size_per_learner=64)
    algorithm = running(config)
    for _ in range(2):
        results = algorithm.train()
    steps = results["env_runners"]["num_env_steps_sampled_lifetime"]
    state = algorithm.learner_group.get_state()["learner"]["intrinsic_reward"][0]["bonus"]
    assert state["model"]["normalisers"]["combined bonus"]["count"] == steps
    algorithm.save_to_path(tmp_path / "checkpoint")
    algorithm.restore_from_path(tmp_path / "checkpoint")
    assert reported(algorithm.train())["bonus"]["mean"] > 0

"""CPU time per step on any Gymnasium environment: ours beside RLlib's runner and PPO, and Stable-Baselines3's PPO.

All three play the same environments, vectorised in this process, with the same network: our `mlp`, without an LSTM.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium as gym
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from ray.tune.registry import register_env

from bonuslab.algorithms.acting.runner import FragmentRunner
from bonuslab.algorithms.ddppo.config import DDPPOConfig
from bonuslab.algorithms.impala.config import IMPALAConfig
from bonuslab.algorithms.networks import build_encoder, build_policy
from bonuslab.algorithms.rllib.serial import no_object_store
from bonuslab.experiments.benchmarks.measurement import Measurement
from bonuslab.experiments.benchmarks.timing import Operation, announce, single_thread, take_turns

TASKS = ("CartPole-v1", "MiniGrid-MultiRoom-N6-v0")
ENVS, STEPS = 8, 128
EPOCHS, MINIBATCHES = 4, 4
LEARNING_RATE = 3e-4


def run(quick: bool) -> list[Measurement]:
    """Measure each task with both peers."""
    turns = 3 if quick else 15
    with single_thread():
        return [row for task in TASKS for row in _task(task, turns)]


def _task(task: str, turns: int) -> Iterator[Measurement]:
    register_env(f"doors-{task}", lambda _: make(task))
    with _rllib_ppo(task) as rllib, _our_ppo(task) as ours:
        sampling = {"RLlib's env runner": _rllib_runner(task)}
        training = {"RLlib's PPO": rllib}
        if (stable_baselines := _stable_baselines(task)) is not None:
            sampling["SB3's rollouts"], training["SB3's PPO"] = stable_baselines
        for what, own, peers in (("sampling", _our_runner(task), sampling), ("PPO", ours, training)):
            for peer, operation in peers.items():
                name = f"{task}, {what}; peer: {peer}"
                announce(name)
                ours_seconds, peer_seconds = take_turns(own, operation, turns, clock=time.process_time)
                yield Measurement(name, 1e6 * ours_seconds, 1e6 * peer_seconds, "µs/step")


def make(task: str) -> gym.Env[Any, Any]:
    """The environment; of MiniGrid's observations the image, as one vector."""
    if not task.startswith("MiniGrid"):
        return gym.make(task)
    import minigrid

    return gym.wrappers.FlattenObservation(minigrid.wrappers.ImgObsWrapper(gym.make(task)))


def _our_runner(task: str) -> Operation:
    config = _ours(IMPALAConfig(), task)
    runner = FragmentRunner(config=config)
    return lambda: runner.sample().action.size


@contextmanager
def _our_ppo(task: str) -> Iterator[Operation]:
    config = _ours(DDPPOConfig(), task).training(num_epochs=EPOCHS, num_minibatches=MINIBATCHES)
    with _training(config) as train:
        yield train


def _ours(config: Any, task: str) -> Any:
    config.environment(f"doors-{task}").training(network="mlp", recurrent=False, lr=LEARNING_RATE)
    config.env_runners(num_envs_per_env_runner=ENVS, rollout_fragment_length=STEPS)
    return config.bonus("none").run_serially().debugging(seed=0, log_level="ERROR")


def _rllib_runner(task: str) -> Operation:
    runner = SingleAgentEnvRunner(config=_rllib(task), worker_index=0)
    return lambda: sum(map(len, runner.sample(num_timesteps=ENVS * STEPS, random_actions=False)))


@contextmanager
def _rllib_ppo(task: str) -> Iterator[Operation]:
    with no_object_store(), _training(_rllib(task)) as train:
        yield train


def _rllib(task: str) -> PPOConfig:
    config = PPOConfig().environment(f"doors-{task}").debugging(seed=0, log_level="ERROR")
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=ENVS, rollout_fragment_length=STEPS)
    batch = ENVS * STEPS
    config.training(train_batch_size=batch, minibatch_size=batch // MINIBATCHES, num_epochs=EPOCHS, lr=LEARNING_RATE)
    return config.rl_module(rl_module_spec=RLModuleSpec(module_class=SameNetwork))


@contextmanager
def _training(config: Any) -> Iterator[Operation]:
    algorithm = config.build_algo()

    def train() -> int:
        algorithm.train()
        return ENVS * STEPS

    try:
        yield train
    finally:
        algorithm.stop()


class SameNetwork(TorchRLModule, ValueFunctionAPI):
    """Our network as RLlib's PPO expects it."""

    def setup(self) -> None:
        """Build the network."""
        self.network = build_policy("mlp", _named(self.observation_space), int(self.action_space.n), recurrent=False)

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        features = self.network.encoder({"obs": batch[Columns.OBS]})
        return {Columns.ACTION_DIST_INPUTS: self.network.policy_head(features), Columns.EMBEDDINGS: features}

    def compute_values(self, batch: dict[str, Any], embeddings: torch.Tensor | None = None) -> torch.Tensor:
        """Values [B]."""
        features = self.network.encoder({"obs": batch[Columns.OBS]}) if embeddings is None else embeddings
        return self.network.value_head(features).squeeze(-1)


def _stable_baselines(task: str) -> tuple[Operation, Operation] | None:
    """Rollouts, and rollouts with training."""
    try:
        from stable_baselines3 import PPO
        from stable_baselines3.common.env_util import make_vec_env
        from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
    except ModuleNotFoundError:
        announce("nothing of Stable-Baselines3, which is not installed (pip install stable-baselines3)")
        return None

    class SameEncoder(BaseFeaturesExtractor):
        """Our encoder; SB3 adds a linear policy and value."""

        def __init__(self, observation_space: gym.Space[Any]) -> None:
            encoder = build_encoder("mlp", _named(observation_space))
            super().__init__(observation_space, encoder.output_size)
            self.encoder = encoder

        def forward(self, observations: torch.Tensor) -> torch.Tensor:
            """[B, d]."""
            return self.encoder({"obs": observations})

    def build() -> tuple[Any, Callable[[], object]]:
        envs = make_vec_env(lambda: make(task), n_envs=ENVS, seed=0)
        model = PPO(
            "MlpPolicy",
            envs,
            n_steps=STEPS,
            batch_size=ENVS * STEPS // MINIBATCHES,
            n_epochs=EPOCHS,
            learning_rate=LEARNING_RATE,
            policy_kwargs={"features_extractor_class": SameEncoder, "net_arch": []},
            device="cpu",
        )
        _, callback = model._setup_learn(total_timesteps=10**9)
        return model, lambda: model.collect_rollouts(envs, callback, model.rollout_buffer, STEPS)

    _, act = build()
    model, collect = build()

    def sample() -> int:
        act()
        return ENVS * STEPS

    def train() -> int:
        collect()
        model.train()
        return ENVS * STEPS

    return sample, train


def _named(space: gym.Space[Any] | None) -> gym.spaces.Dict:
    return gym.spaces.Dict({"obs": space})  # type: ignore[dict-item]

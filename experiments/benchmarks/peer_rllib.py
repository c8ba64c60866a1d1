"""The peers: RLlib's own PPO, APPO and IMPALA, with the same network, envs and work.

The cheapest settings per step: PPO samples in its own process, and APPO and IMPALA have one runner, since they are
asynchronous.
"""

from __future__ import annotations

import logging
import warnings
from contextlib import nullcontext
from typing import Any

import ray
import torch
from ray.rllib.algorithms.appo import APPOConfig
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.learner.utils import make_target_network
from ray.rllib.core.rl_module.apis import TARGET_NETWORK_ACTION_DIST_INPUTS, TargetNetworkAPI
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.utils.metrics import ENV_RUNNER_RESULTS, NUM_ENV_STEPS_SAMPLED_LIFETIME
from ray.tune.registry import register_env

from bonuslab.algorithms.rllib.serial import no_object_store
from bonuslab.envs.minihack import make
from bonuslab.experiments.benchmarks.peer_network import PlainPolicy
from bonuslab.experiments.benchmarks.peer_turns import Turns, Work, work_from_command_line
from bonuslab.experiments.benchmarks.stock_impala import StockModule

ALGORITHMS: dict[str, Any] = {"PPO": PPOConfig, "APPO": APPOConfig, "IMPALA": IMPALAConfig}
SAMPLED = (ENV_RUNNER_RESULTS, NUM_ENV_STEPS_SAMPLED_LIFETIME)
"""What counts as steps: those trained on are counted once per epoch."""


class PlainModule(StockModule, TargetNetworkAPI):
    """The plain network as RLlib's algorithms expect it; APPO asks for a second one, its target."""

    def setup(self) -> None:
        """Build the network."""
        self.network = PlainPolicy(self.observation_space, int(self.action_space.n))

    def make_target_networks(self) -> None:
        """Copy the network."""
        self._target = make_target_network(self.network)

    def get_target_network_pairs(self) -> list[tuple[Any, Any]]:
        """The network and its copy."""
        return [(self.network, self._target)]

    def forward_target(self, batch: dict[str, Any]) -> dict[str, Any]:
        """The target's logits."""
        core, _ = self._core(batch, self._target)
        return {TARGET_NETWORK_ACTION_DIST_INPUTS: self._target.policy_head(core)}

    def get_non_inference_attributes(self) -> list[str]:
        """Runners need no target."""
        return ["_target"]

    def _run_core(self, network: Any, features: torch.Tensor, first: torch.Tensor, state: Any) -> Any:
        return network.core.forward_segments(features, first, state)


def rllib_config(algorithm: str, work: Work) -> Any:
    """The algorithm with the given work; everything else is RLlib's default."""
    register_env("peer", lambda _: make(work.task, seed=work.seed))
    config = ALGORITHMS[algorithm]().environment("peer").debugging(seed=work.seed, log_level="ERROR")
    config.env_runners(
        num_env_runners=0 if algorithm == "PPO" else 1,
        num_envs_per_env_runner=work.num_envs,
        rollout_fragment_length=work.unroll,
    )
    config.learners(num_learners=0)
    # For GAE, PPO appends a step to each fragment: with room for it, the minibatches are as many as ours.
    length = work.unroll + (algorithm == "PPO")
    config.training(
        train_batch_size_per_learner=work.batch_steps,
        minibatch_size=length * work.num_envs // work.minibatches,
        num_epochs=work.epochs,
        lr=work.lr,
        gamma=work.gamma,
        grad_clip=work.grad_clip,
        entropy_coeff=work.entropy,
        vf_loss_coeff=work.value,
    )
    if algorithm != "PPO":
        config.training(timeout_s_sampler_manager=0.05)  # by default its driver waits busily for samples
    module = RLModuleSpec(module_class=PlainModule, model_config={"max_seq_len": length})
    return config.rl_module(rl_module_spec=module).reporting(min_time_s_per_iteration=0)


def main() -> None:
    """Train as long as asked."""
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    work, (algorithm,) = work_from_command_line()
    if algorithm != "PPO":
        ray.init("local", num_cpus=4, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    with no_object_store() if algorithm == "PPO" else nullcontext():
        training, turns = rllib_config(algorithm, work).build_algo(), Turns(work.batch_steps)
        while turns.go_on(int(training.metrics.peek(SAMPLED, default=0))):
            training.train()
        training.stop()


if __name__ == "__main__":
    main()

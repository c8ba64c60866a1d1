"""The peer: RLlib's own IMPALA with our network and our environments."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import torch
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.tune.registry import register_env

from bonuslab.algorithms.networks import build_policy
from bonuslab.envs.minihack import make


class StockModule(TorchRLModule, ValueFunctionAPI):
    """One of our networks as RLlib's IMPALA expects it: batch-major, sequences without resets."""

    def setup(self) -> None:
        """Build the network."""
        self.network: Any = build_policy(self.model_config["family"], self.observation_space, int(self.action_space.n))

    def get_initial_state(self) -> dict[str, np.ndarray]:
        """Zeros h and c."""
        h, c = self.network.initial_state(1)
        return {"h": h[0, 0].numpy(), "c": c[0, 0].numpy()}

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        core, state = self._core(batch)
        return {
            Columns.ACTION_DIST_INPUTS: self.network.policy_head(core),
            Columns.STATE_OUT: {"h": state[0][0], "c": state[1][0]},
            Columns.EMBEDDINGS: core,
        }

    def compute_values(self, batch: dict[str, Any], embeddings: torch.Tensor | None = None) -> torch.Tensor:
        """Values [B, T]."""
        core = self._core(batch)[0] if embeddings is None else embeddings
        return self.network.value_head(core).squeeze(-1)

    def _core(self, batch: dict[str, Any], network: Any = None) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
        """Output of the LSTM [B, T, hidden] and its last state, of this network or of another."""
        observations, network = batch[Columns.OBS], network or self.network
        B, T = observations["blstats"].shape[:2]
        flat = {key: rows.reshape(B * T, *rows.shape[2:]) for key, rows in observations.items()}
        features = network.encoder(flat).view(B, T, -1).transpose(0, 1)
        state = batch[Columns.STATE_IN]
        first = torch.zeros(T, B, dtype=torch.bool, device=features.device)
        core, after = self._run_core(network, features, first, (state["h"][None], state["c"][None]))
        return core.transpose(0, 1), after

    def _run_core(self, network: Any, features: torch.Tensor, first: torch.Tensor, state: Any) -> Any:
        return network.core(features, first, state)


def stock_config(task: str, family: str, num_runners: int, envs: int, unroll: int, batch_steps: int) -> IMPALAConfig:
    """RLlib's IMPALA with its fastest settings on small machines."""

    def make_env(_: Any) -> gym.Env:
        return make(task)

    register_env("bonuslab-stock", make_env)
    return (
        IMPALAConfig()
        .environment("bonuslab-stock")
        .env_runners(
            num_env_runners=num_runners, num_envs_per_env_runner=envs, rollout_fragment_length=unroll, explore=True
        )
        .learners(num_learners=0, num_cpus_per_learner=1)
        .training(train_batch_size_per_learner=batch_steps, lr=1e-4, grad_clip=40.0, timeout_s_sampler_manager=0.05)
        .rl_module(
            rl_module_spec=RLModuleSpec(
                module_class=StockModule, model_config={"family": family, "max_seq_len": unroll}
            )
        )
        .reporting(min_time_s_per_iteration=2)
        .debugging(log_level="ERROR", seed=0)
    )

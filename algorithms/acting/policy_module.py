"""The policy network as an RLModule, shared by runners and learners."""

from __future__ import annotations

from typing import Any

import torch
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule

from bonuslab.algorithms.networks import PolicyNetwork, build_policy
from bonuslab.algorithms.networks.compiled_policy import unroll_for_learning

NEXT_VALUE = "next_value"
"""Key in the output of `forward_train`: V of the true next state s_{t+1}."""


class PolicyModule(TorchRLModule):
    """A `PolicyNetwork`; `model_config` has its `family`, `recurrent` and optionally `num_values`."""

    network: PolicyNetwork

    def setup(self) -> None:
        """Build the network for the spaces."""
        self.network = build_policy(
            self.model_config["family"],
            self.observation_space,
            int(self.action_space.n),
            recurrent=self.model_config["recurrent"],
            num_values=self.model_config.get("num_values", 1),
        )

    def train(self, mode: bool = True) -> PolicyModule:
        """RLlib calls this before each forward pass, and it visits every layer."""
        return self if self.training == mode else super().train(mode)

    def get_initial_state(self) -> dict[str, torch.Tensor]:
        """RLlib's form of the recurrent state: [layers, hidden] each, without a batch dimension."""
        return {f"state_{number}": part[:, 0] for number, part in enumerate(self.network.initial_state(1))}

    def _forward_inference(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        """RLlib's inference: observations [B, ...], or [B, T, ...] with `state_in`, to logits and the next state."""
        observations, state = batch[Columns.OBS], batch.get(Columns.STATE_IN)
        some = next(iter(observations.values()))
        if not state:
            first = some.new_ones(len(some), dtype=torch.bool)
            output = self.network.act(observations, first, self.network.initial_state(len(some)))
            return {Columns.ACTION_DIST_INPUTS: output.logits, Columns.VF_PREDS: output.value}
        rows = {key: value.transpose(0, 1) for key, value in observations.items()}  # [T, B, ...]
        before = tuple(part.transpose(0, 1).contiguous() for part in state.values())  # [layers, B, hidden]
        first = some.new_zeros(some.shape[1::-1], dtype=torch.bool)
        output = self.network.unroll(rows, first, before)
        after = {key: part.transpose(0, 1) for key, part in zip(state, output.state, strict=True)}
        return {
            Columns.ACTION_DIST_INPUTS: output.logits.transpose(0, 1),
            Columns.VF_PREDS: output.value.transpose(0, 1),
            Columns.STATE_OUT: after,
        }

    def _forward_exploration(self, batch: dict[str, Any], **options: Any) -> dict[str, Any]:
        """The same: exploring means sampling from the logits."""
        return self._forward_inference(batch, **options)

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, torch.Tensor]:
        """Logits [T, N, A], values [T, N] and values of the true next states [T, N] for a fragment's tensors."""
        logits, value, next_value = unroll_for_learning(
            self.network, batch[Columns.OBS], batch["first"], batch["state"]
        )
        if len(batch["final_index"]):
            step, env_index = batch["final_index"].unbind(1)
            first = torch.zeros_like(step, dtype=torch.bool)
            with torch.no_grad():
                finals = self.network.act(batch["finals"], first, batch["final_state"])
            next_value[step, env_index] = finals.value
        return {
            Columns.ACTION_DIST_INPUTS: logits,
            Columns.VF_PREDS: value,
            NEXT_VALUE: next_value,
        }

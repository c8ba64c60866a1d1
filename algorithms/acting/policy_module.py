"""The policy network as an RLlib module: what runners act with and learners train."""

from __future__ import annotations

from typing import Any

import torch
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule

from bonuslab.algorithms.networks import PolicyNetwork, build_policy

NEXT_VALUE = "next_value"
"""Key of V(s_{t+1}) of the true next state, in the output of `forward_train`."""


class PolicyModule(TorchRLModule):
    """A `PolicyNetwork` of the family named in `model_config["family"]`, with `recurrent` and `num_values`."""

    network: PolicyNetwork

    def setup(self) -> None:
        """Build the network from the spaces."""
        self.network = build_policy(
            self.model_config["family"],
            self.observation_space,
            int(self.action_space.n),
            recurrent=self.model_config["recurrent"],
            num_values=self.model_config.get("num_values", 1),
        )

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, torch.Tensor]:
        """Logits [T, N, A], values [T, N] and values of the true next states [T, N] of a fragment's tensors."""
        output = self.network.unroll(batch[Columns.OBS], batch["first"], batch["state"])
        next_value = output.value[1:].detach().clone()
        if len(batch["final_index"]):
            step, env_index = batch["final_index"].unbind(1)
            going_on = torch.zeros_like(step, dtype=torch.bool)
            with torch.no_grad():
                finals = self.network.act(batch["finals"], going_on, batch["final_state"])
            next_value[step, env_index] = finals.value
        return {
            Columns.ACTION_DIST_INPUTS: output.logits[:-1],
            Columns.VF_PREDS: output.value[:-1],
            NEXT_VALUE: next_value,
        }

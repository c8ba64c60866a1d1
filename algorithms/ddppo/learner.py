"""DD-PPO's learner: PPO with gradients and advantage statistics over all workers."""

from __future__ import annotations

import copy
from typing import Any

import torch
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns

from bonuslab.algorithms.acting.rollout import FOLLOWING_VALUE, NEXT_VALUE, VALUE
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.ddppo.loss import one_head, ppo_loss, two_heads
from bonuslab.algorithms.learning.collectives import Collectives
from bonuslab.algorithms.learning.learner import FragmentLearner
from bonuslab.algorithms.networks.running_moments import connect


class PPOLearner(FragmentLearner):
    """Several clipped epochs over one rollout; advantages and targets are computed before the first.

    `collectives` connects it to the learners of the other workers. A gradient is the mean over all steps that the
    workers collected, so rollouts of any length count by their steps, and all learners stay identical.
    """

    collectives: Collectives = Collectives()

    def build(self) -> None:
        """Build the module; its image statistics are those of all workers."""
        super().build()
        connect(self.module[DEFAULT_MODULE_ID], lambda tensor: self.collectives.sum(tensor))

    def prepare(self, fragment: Fragment, tensors: dict[str, Any]) -> dict[str, Any]:
        """Advantages and targets, from the values recorded during the rollout."""
        value, after, following = (self._column(fragment, name) for name in (VALUE, NEXT_VALUE, FOLLOWING_VALUE))
        ends = {"terminated": tensors["terminated"], "done": tensors["terminated"] | tensors["truncated"]}
        settings = self.config.hyperparameters
        if self.config.num_values == 1:
            advantage, target = one_head(
                reward=tensors["reward"].to(value.dtype), value=value, next_value=after, settings=settings, **ends
            )
        else:
            advantage, target = two_heads(
                extrinsic=self._extrinsic(fragment).to(value.dtype),
                intrinsic=self._column(fragment, "bonus").to(value.dtype),
                value=value,
                next_value=after,
                following_value=following,
                settings=settings,
                **ends,
            )
        if self.config.normalise_advantages:
            advantage = self._normalised(advantage)
        # The targets are known, so the epochs need no values of final states.
        unused = {"final_index": tensors["final_index"][:0], "finals": {k: v[:0] for k, v in tensors["finals"].items()}}
        unused["final_state"] = tuple(part[:, :0] for part in tensors["final_state"])
        return {"behaviour_value": value, "advantage": advantage, "target": target, **unused}

    def loss(self, batch: dict[str, Any], outputs: dict[str, torch.Tensor]) -> tuple[torch.Tensor, dict[str, Any]]:
        """PPO's loss."""
        columns = ("behaviour_logits", "behaviour_value", "action", "advantage", "target")
        return ppo_loss(
            logits=outputs[Columns.ACTION_DIST_INPUTS],
            value=outputs[Columns.VF_PREDS],
            settings=self.config.hyperparameters,
            **{name: batch[name] for name in columns},
        )

    def reduce_gradients(self, parameters: list[torch.nn.Parameter], num_steps: int) -> None:
        """Average over the steps of all workers."""
        self.collectives.average_gradients(parameters, num_steps)

    def set_replica_state(self, state: dict[str, Any]) -> None:
        """Become a copy of another learner."""
        # Arrays from Ray's object store are shared among processes, but optimisers write to theirs.
        self.set_state(copy.deepcopy(state))

    def _normalised(self, advantage: torch.Tensor) -> torch.Tensor:
        """(A − mean) / std over the steps of all workers."""
        moments = torch.stack([advantage.new_tensor(advantage.numel()), advantage.sum(), advantage.square().sum()])
        count, total, squares = self.collectives.sum(moments.double()).to(advantage.dtype)
        mean = total / count
        deviation = (squares / count - mean.square()).clamp(min=0).sqrt()
        return (advantage - mean) / (deviation + 1e-8)

    def _extrinsic(self, fragment: Fragment) -> torch.Tensor:
        reward = torch.as_tensor(fragment.reward, device=self._device)
        clip = self.config.reward_clip
        return reward if clip is None else reward.clamp(-clip, clip)

    def _column(self, fragment: Fragment, name: str) -> torch.Tensor:
        return torch.as_tensor(fragment.extra[name], device=self._device)

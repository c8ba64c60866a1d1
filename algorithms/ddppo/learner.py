"""DD-PPO's learner: PPO whose gradients and advantages' moments are those of all workers."""

from __future__ import annotations

import copy
from typing import Any

import torch
from ray.rllib.core.columns import Columns

from bonuslab.algorithms.acting.rollout import FOLLOWING_VALUE, NEXT_VALUE, VALUE
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.ddppo.loss import one_head, ppo_loss, two_heads
from bonuslab.algorithms.learning.collectives import SingleProcess
from bonuslab.algorithms.learning.learner import FragmentLearner


class PPOLearner(FragmentLearner):
    """Several clipped passes over one rollout; advantages and targets are fixed before the first.

    `replicas` are the learners of the other workers. Each takes the same steps: a gradient is the mean over all steps
    that all workers have truly collected, however short the rollout of one of them was.
    """

    replicas: SingleProcess = SingleProcess()

    def prepare(self, fragment: Fragment, tensors: dict[str, Any]) -> dict[str, Any]:
        """Advantages and targets, from the values recorded while acting."""
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
        # The passes need no values of next states: what they are made into is known.
        unused = {"final_index": tensors["final_index"][:0], "finals": {k: v[:0] for k, v in tensors["finals"].items()}}
        unused["final_state"] = tuple(part[:, :0] for part in tensors["final_state"])
        return {"behaviour_value": value, "advantage": advantage, "target": target, **unused}

    def compute_loss_for_module(
        self, *, module_id: str, config: Any, batch: dict[str, Any], fwd_out: dict[str, torch.Tensor]
    ) -> torch.Tensor:
        """PPO's loss, its parts logged."""
        loss, parts = ppo_loss(
            logits=fwd_out[Columns.ACTION_DIST_INPUTS],
            value=fwd_out[Columns.VF_PREDS],
            behaviour_logits=batch["behaviour_logits"],
            behaviour_value=batch["behaviour_value"],
            action=batch["action"],
            advantage=batch["advantage"],
            target=batch["target"],
            settings=config.hyperparameters,
        )
        for name, value in parts.items():
            self.metrics.log_value((module_id, name), float(value), window=1)
        return loss

    def reduce_gradients(self, parameters: list[torch.nn.Parameter], num_steps: int) -> None:
        """The mean over the steps of all workers."""
        self.replicas.average_gradients(parameters, num_steps)

    def set_replica_state(self, state: dict[str, Any]) -> None:
        """Be a copy of another learner, whatever state this one is in."""
        self._weights_seq_no = -1  # RLlib would ignore weights that are not newer
        # Arrays from Ray's object store are shared by all workers of a machine, and optimisers write to theirs.
        self.set_state(copy.deepcopy(state))

    def _normalised(self, advantage: torch.Tensor) -> torch.Tensor:
        """(A − mean) / std over the steps of all workers."""
        moments = torch.stack([advantage.new_tensor(advantage.numel()), advantage.sum(), advantage.square().sum()])
        count, total, squares = self.replicas.sum(moments.double()).to(advantage.dtype)
        mean = total / count
        deviation = (squares / count - mean.square()).clamp(min=0).sqrt()
        return (advantage - mean) / (deviation + 1e-8)

    def _extrinsic(self, fragment: Fragment) -> torch.Tensor:
        reward = torch.as_tensor(fragment.reward, device=self._device)
        clip = self.config.reward_clip
        return reward if clip is None else reward.clamp(-clip, clip)

    def _column(self, fragment: Fragment, name: str) -> torch.Tensor:
        return torch.as_tensor(fragment.extra[name], device=self._device)

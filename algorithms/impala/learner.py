"""IMPALA's learner."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ray
import torch
from ray.rllib.core import COMPONENT_RL_MODULE, DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.learner.training_data import TrainingData
from ray.rllib.utils.metrics import WEIGHTS_SEQ_NO

from bonuslab.algorithms.acting.policy_module import NEXT_VALUE
from bonuslab.algorithms.bonuses.reward.shared import RewardColumns
from bonuslab.algorithms.data.fragment import Fragment, concat_envs
from bonuslab.algorithms.impala.loss import impala_loss
from bonuslab.algorithms.learning.learner import FragmentLearner

STATE_AFTER_UPDATE = "_rl_module_state_after_update"
"""Key under which RLlib's learner group expects the new weights."""


class IMPALALearner(FragmentLearner):
    """V-trace's policy gradient, or its clipped variant for several passes."""

    def update(
        self,
        batch: Fragment | None = None,
        *,
        training_data: TrainingData | None = None,
        timesteps: dict[str, Any] | None = None,
        return_state: bool = False,
        **_: Any,
    ) -> dict[str, Any]:
        """Learn from a fragment; with `return_state` the new weights come back too."""
        with self.together():
            fragment = _fragment(training_data or TrainingData(batch=batch))
        self.learn_from(fragment, timesteps)
        results = self.metrics.reduce()
        if return_state:
            state = self.get_state(components=COMPONENT_RL_MODULE, inference_only=True)
            weights = state[COMPONENT_RL_MODULE]
            if ray.is_initialized():
                weights = ray.put(weights)
            results[STATE_AFTER_UPDATE] = {COMPONENT_RL_MODULE: weights, WEIGHTS_SEQ_NO: self._weights_seq_no}
        return results

    def compute_loss_for_module(
        self, *, module_id: str, config: Any, batch: dict[str, Any], fwd_out: dict[str, torch.Tensor]
    ) -> torch.Tensor:
        """IMPALA's loss, its parts logged."""
        loss, parts = impala_loss(
            logits=fwd_out[Columns.ACTION_DIST_INPUTS],
            value=fwd_out[Columns.VF_PREDS],
            next_value=fwd_out[NEXT_VALUE],
            behaviour_logits=batch["behaviour_logits"],
            start_logits=batch["start_logits"],
            action=batch["action"],
            reward=batch["reward"],
            terminated=batch["terminated"],
            truncated=batch["truncated"],
            settings=config.hyperparameters,
        )
        for name, value in parts.items():
            self.metrics.log_value((module_id, name), float(value), window=1)
        return loss

    def prepare(self, fragment: Fragment, tensors: dict[str, Any]) -> dict[str, torch.Tensor]:
        """What the policy says before this update, or what it said when it acted if it is still the same."""
        if self.config.clip_param is None or fragment.weights_version == self._weights_seq_no:
            return {"start_logits": tensors["behaviour_logits"]}
        with torch.no_grad():
            output = self.module[DEFAULT_MODULE_ID].unwrapped().forward_train(tensors)
        return {"start_logits": output[Columns.ACTION_DIST_INPUTS]}

    @contextmanager
    def together(self) -> Iterator[None]:
        """Raise on all learners what one of them raises; the others would wait for its gradients for ever."""
        own: Exception | None = None
        try:
            yield
        except Exception as error:
            own = error
        if self.config.num_learners > 1:
            failed = torch.tensor(0.0 if own is None else 1.0, device=self._device)
            torch.distributed.all_reduce(failed)
            if failed > 0:
                texts: list[str | None] = [None] * self.config.num_learners
                torch.distributed.all_gather_object(texts, None if own is None else f"{type(own).__name__}: {own}")
                if own is None:
                    raise RuntimeError(f"another learner failed: {next(filter(None, texts))}")
        if own is not None:
            raise own


def _fragment(data: TrainingData) -> Fragment:
    """The fragment inside RLlib's envelope, with its reward columns; several are joined."""
    data.solve_refs()
    parts = [data.batch] if data.batch is not None else data.batches
    fragment = concat_envs([part for part in parts if isinstance(part, Fragment)])
    for part in parts:
        if isinstance(part, RewardColumns):
            fragment.extra |= part.columns
    return fragment

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
from bonuslab.algorithms.data.fragment import Fragment, concat_envs
from bonuslab.algorithms.impala.compiled_loss import compiled_loss
from bonuslab.algorithms.impala.hyperparameters import IMPALAHyperparameters
from bonuslab.algorithms.impala.loss import impala_loss
from bonuslab.algorithms.learning.learner import FragmentLearner
from bonuslab.algorithms.rllib.shared_bonus import RewardColumns

STATE_AFTER_UPDATE = "_rl_module_state_after_update"
"""Key of new weights in results, as RLlib's learner group expects."""


class IMPALALearner(FragmentLearner):
    """V-trace policy gradient, or its clipped variant for several epochs."""

    _settings: IMPALAHyperparameters

    def update(
        self,
        batch: Fragment | None = None,
        *,
        training_data: TrainingData | None = None,
        timesteps: dict[str, Any] | None = None,
        return_state: bool = False,
        **_: Any,
    ) -> dict[str, Any]:
        """Train on a fragment; with `return_state`, also return the new weights."""
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

    def loss(self, batch: dict[str, Any], outputs: dict[str, torch.Tensor]) -> tuple[torch.Tensor, dict[str, Any]]:
        """IMPALA's loss."""
        columns = ("behaviour_log_prob", "start_log_prob", "action", "reward", "terminated", "truncated")
        arguments = {
            "logits": outputs[Columns.ACTION_DIST_INPUTS],
            "value": outputs[Columns.VF_PREDS],
            "next_value": outputs[NEXT_VALUE],
            "settings": self._settings,
            **{name: batch[name] for name in columns},
        }
        if outputs[Columns.VF_PREDS].device.type == "cpu" and not self._logging:
            return compiled_loss(**arguments), {}
        return impala_loss(**arguments)

    def prepare(self, fragment: Fragment, tensors: dict[str, Any]) -> dict[str, torch.Tensor]:
        """Log-probabilities of the actions under the behaviour policy and under the policy before this update."""
        self._settings = self.config.hyperparameters
        behaviour = start = _log_prob(tensors["behaviour_logits"], tensors["action"])
        if self.config.clip_param is not None and fragment.weights_version != self._weights_seq_no:
            with torch.no_grad():
                output = self.module[DEFAULT_MODULE_ID].unwrapped().forward_train(tensors)
            start = _log_prob(output[Columns.ACTION_DIST_INPUTS], tensors["action"])
        return {"behaviour_log_prob": behaviour, "start_log_prob": start}

    @contextmanager
    def together(self) -> Iterator[None]:
        """Raise on all learners if one fails; the others would wait for its gradients forever."""
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


def _log_prob(logits: torch.Tensor, action: torch.Tensor) -> torch.Tensor:
    """[T, N]: log-probabilities of the actions."""
    return torch.log_softmax(logits, -1).gather(-1, action.unsqueeze(-1)).squeeze(-1)


def _fragment(data: TrainingData) -> Fragment:
    """Fragments of a batch concatenated into one, with their reward columns."""
    data.solve_refs()
    parts = [data.batch] if data.batch is not None else data.batches
    fragment = concat_envs([part for part in parts if isinstance(part, Fragment)])
    for part in parts:
        if isinstance(part, RewardColumns):
            fragment.extra |= part.columns
    return fragment

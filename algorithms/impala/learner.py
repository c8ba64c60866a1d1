"""The learner: RLlib's TorchLearner with an update written for fragments."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ray
import torch
from ray.rllib.core import COMPONENT_RL_MODULE, DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.learner.torch.torch_learner import TorchLearner
from ray.rllib.core.learner.training_data import TrainingData
from ray.rllib.utils.metrics import ALL_MODULES, NUM_ENV_STEPS_TRAINED, NUM_ENV_STEPS_TRAINED_LIFETIME, WEIGHTS_SEQ_NO

from bonuslab.algorithms.finite import require_finite
from bonuslab.algorithms.fragment import Fragment, join_lanes
from bonuslab.algorithms.impala.loss import impala_loss
from bonuslab.algorithms.impala.optimiser import make_optimiser
from bonuslab.algorithms.module import NEXT_VALUE

STATE_AFTER_UPDATE = "_rl_module_state_after_update"
"""Key under which RLlib's learner group expects the new weights."""


class FragmentLearner(TorchLearner):
    """Updates the policy on whole fragments; minibatches are groups of lanes, so no sequence is cut."""

    def build(self) -> None:
        """Build the module and its optimiser; shuffling has its own random numbers."""
        torch.set_num_threads(self.config.threads_per_learner)
        super().build()
        self._shuffle = torch.Generator().manual_seed((self.config.seed or 0) + 104729)

    def configure_optimizers_for_module(self, module_id: str, config: Any = None) -> None:
        """RMSProp as in the paper, or Adam."""
        parameters = self.get_parameters(self._module[module_id])
        self.register_optimizer(
            module_id=module_id,
            optimizer=make_optimiser(config, parameters),
            params=parameters,
            lr_or_lr_schedule=config.lr,
        )

    def update(
        self,
        batch: Fragment | None = None,
        *,
        training_data: TrainingData | None = None,
        timesteps: dict[str, Any] | None = None,
        return_state: bool = False,
        **_: Any,
    ) -> dict[str, Any]:
        """`num_epochs` passes over a fragment; with `return_state` the new weights come back too."""
        self._check_is_built()
        self.before_gradient_based_update(timesteps=timesteps or {})
        with self._together():
            fragment = _fragment(training_data or TrainingData(batch=batch))
            tensors = to_tensors(fragment, self._device)
            tensors["start_logits"] = self._start_logits(fragment, tensors)
        for _epoch in range(self.config.num_epochs):
            for columns in self._minibatches(fragment.num_lanes):
                self._gradient_step(choose_lanes(tensors, columns))
        self._log(fragment)
        self._weights_seq_no += 1
        self.after_gradient_based_update(timesteps=timesteps or {})
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
            settings=config.loss_settings(),
        )
        for name, value in parts.items():
            self.metrics.log_value((module_id, name), float(value), window=1)
        return loss

    def _start_logits(self, fragment: Fragment, tensors: dict[str, Any]) -> torch.Tensor:
        """[T, N, A]: what the policy says before this update; what it said when it acted if it is still the same."""
        if self.config.surrogate_clip is None or fragment.weights_version == self._weights_seq_no:
            return tensors["behaviour_logits"]
        with torch.no_grad():
            output = self.module[DEFAULT_MODULE_ID].unwrapped().forward_train(tensors)
        return output[Columns.ACTION_DIST_INPUTS]

    def _gradient_step(self, batch: dict[str, Any]) -> None:
        with self._together():
            outputs = self.module.forward_train({DEFAULT_MODULE_ID: batch})
            losses = self.compute_losses(fwd_out=outputs, batch={DEFAULT_MODULE_ID: batch})
        self.compute_gradients(losses)
        parameters = self.get_parameters(self.module[DEFAULT_MODULE_ID])
        norm = torch.nn.utils.clip_grad_norm_(parameters, self.config.grad_clip)
        require_finite("gradient norm", norm)
        self.metrics.log_value((DEFAULT_MODULE_ID, "gradient_norm"), float(norm), window=1)
        self.get_optimizer(DEFAULT_MODULE_ID).step()

    @contextmanager
    def _together(self) -> Iterator[None]:
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

    def _minibatches(self, num_lanes: int) -> list[torch.Tensor]:
        if self.config.num_minibatches == 1:
            return [torch.arange(num_lanes)]
        order = torch.randperm(num_lanes, generator=self._shuffle)
        return list(order.chunk(self.config.num_minibatches))

    def _log(self, fragment: Fragment) -> None:
        steps = fragment.action.size
        self.metrics.log_value((ALL_MODULES, NUM_ENV_STEPS_TRAINED), steps, reduce="sum")
        self.metrics.log_value(
            (ALL_MODULES, NUM_ENV_STEPS_TRAINED_LIFETIME), steps, reduce="lifetime_sum", with_throughput=True
        )
        lag = self._weights_seq_no - fragment.weights_version
        self.metrics.log_value((DEFAULT_MODULE_ID, "policy_lag_updates"), lag, window=20)

    def get_state(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        """RLlib's state and the random numbers that shuffle minibatches."""
        state = super().get_state(*arguments, **options)
        state["shuffle"] = self._shuffle.get_state().numpy()
        return state

    def set_state(self, state: dict[str, Any]) -> None:
        """The inverse of `get_state`."""
        super().set_state(state)
        if "shuffle" in state:
            self._shuffle.set_state(torch.as_tensor(state["shuffle"], dtype=torch.uint8))


def _fragment(data: TrainingData) -> Fragment:
    """The fragment inside RLlib's envelope; several are joined."""
    data.solve_refs()
    return data.batch if data.batch is not None else join_lanes(data.batches)


def to_tensors(fragment: Fragment, device: torch.device | str) -> dict[str, Any]:
    """What the network and the loss need of a fragment, as tensors."""

    def tensor(array: Any) -> torch.Tensor:
        return torch.as_tensor(array, device=device)

    # Only truncated episodes need the value of their last state: a terminated one's is multiplied by zero.
    step, lane = fragment.final_index[:, 0], fragment.final_index[:, 1]
    cut = fragment.truncated[step, lane] & ~fragment.terminated[step, lane]
    return {
        Columns.OBS: {key: tensor(rows) for key, rows in fragment.observations.items()},
        "first": tensor(fragment.first),
        "state": tuple(tensor(part) for part in fragment.state),
        "finals": {key: tensor(rows[cut]) for key, rows in fragment.finals.items()},
        "final_index": tensor(fragment.final_index[cut]),
        "final_state": tuple(tensor(part[:, cut]) for part in fragment.final_state),
        "behaviour_logits": tensor(fragment.behaviour_logits),
        "action": tensor(fragment.action),
        "reward": tensor(fragment.extra["reward"]),
        "terminated": tensor(fragment.terminated),
        "truncated": tensor(fragment.truncated),
    }


def choose_lanes(tensors: dict[str, Any], columns: torch.Tensor) -> dict[str, Any]:
    """The same tensors for some of the lanes."""
    if torch.equal(columns, torch.arange(tensors["first"].shape[1])):
        return tensors
    columns = columns.to(tensors["first"].device)
    place = torch.full((tensors["first"].shape[1],), -1, device=columns.device)
    place[columns] = torch.arange(len(columns), device=columns.device)
    kept = place[tensors["final_index"][:, 1]] >= 0
    index = tensors["final_index"][kept]
    chosen = {
        Columns.OBS: {key: rows[:, columns] for key, rows in tensors[Columns.OBS].items()},
        "state": tuple(part[:, columns] for part in tensors["state"]),
        "finals": {key: rows[kept] for key, rows in tensors["finals"].items()},
        "final_index": torch.stack([index[:, 0], place[index[:, 1]]], 1),
        "final_state": tuple(part[:, kept] for part in tensors["final_state"]),
    }
    return chosen | {key: rows[:, columns] for key, rows in tensors.items() if key not in chosen}

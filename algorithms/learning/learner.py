"""The base of all learners: RLlib's TorchLearner with an update written for fragments."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.learner.torch.torch_learner import TorchLearner
from ray.rllib.utils.metrics import (
    ALL_MODULES,
    NUM_ENV_STEPS_TRAINED,
    NUM_ENV_STEPS_TRAINED_LIFETIME,
    WEIGHTS_SEQ_NO,
)

from bonuslab.algorithms.data.finite import require_finite
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.data.tensors import as_tensor
from bonuslab.algorithms.learning import malloc
from bonuslab.algorithms.learning.no_compile import no_inductor
from bonuslab.algorithms.networks.encoder import States


class FragmentLearner(TorchLearner):
    """Updates the policy on whole fragments; minibatches are groups of envs, so no sequence is cut.

    Subclasses define the `loss` and the tensors it needs besides the fragment (`prepare`).
    """

    _weights_seq_no: int
    _logging = True

    def __init__(self, **arguments: Any) -> None:
        with no_inductor():
            super().__init__(**arguments)

    def build(self) -> None:
        """Build the module and its optimiser; shuffling has its own random generator."""
        torch.set_num_threads(self.config.threads_per_learner)
        malloc.keep_large_blocks()
        super().build()
        self._shuffle = torch.Generator().manual_seed((self.config.seed or 0) + 104729)

    def configure_optimizers_for_module(self, module_id: str, config: Any = None) -> None:
        """Register the optimiser of the config."""
        parameters = self.get_parameters(self._module[module_id])
        self.register_optimizer(
            module_id=module_id,
            optimizer=config.make_optimiser(parameters),
            params=parameters,
            lr_or_lr_schedule=config.lr,
        )

    def learn_from(self, fragment: Fragment, timesteps: dict[str, Any] | None = None) -> None:
        """Train on a fragment for `num_epochs` epochs."""
        self._check_is_built()
        self.before_gradient_based_update(timesteps=timesteps or {})
        with self.together():
            tensors = to_tensors(fragment, self._device, self.config.bootstrap_truncated)
            network = self.module[DEFAULT_MODULE_ID].unwrapped().network
            tensors[Columns.OBS] = network.encoder.prepare(tensors[Columns.OBS])
            tensors |= self.prepare(fragment, tensors)
        minibatches = [part for _ in range(self.config.num_epochs) for part in self._minibatches(fragment.num_envs)]
        for number, columns in enumerate(minibatches, 1):
            self._logging = number == len(minibatches)  # metrics are those of the last minibatch
            self._gradient_step(select_envs(tensors, columns))
        self._log(fragment)
        malloc.trim()
        self._weights_seq_no += 1
        self.after_gradient_based_update(timesteps=timesteps or {})

    def prepare(self, fragment: Fragment, tensors: dict[str, Any]) -> dict[str, torch.Tensor]:
        """Further tensors [T, N, ...] for the loss, computed once for all epochs."""
        return {}

    @abstractmethod
    def loss(self, batch: dict[str, Any], outputs: dict[str, torch.Tensor]) -> tuple[torch.Tensor, dict[str, Any]]:
        """Loss of a minibatch, given the module's outputs, and the parts to log."""

    def compute_loss_for_module(
        self, *, module_id: str, config: Any, batch: dict[str, Any], fwd_out: dict[str, torch.Tensor]
    ) -> torch.Tensor:
        """The loss; logs its parts."""
        loss, parts = self.loss(batch, fwd_out)
        if self._logging:
            for name, value in parts.items():
                self.metrics.log_value((module_id, name), float(value), window=1)
        return loss

    @contextmanager
    def together(self) -> Iterator[None]:
        """Wraps code that may fail in one of several learners."""
        yield

    def reduce_gradients(self, parameters: list[torch.nn.Parameter], num_steps: int) -> None:
        """Average the gradients over all learners; ours are the mean over `num_steps` steps."""

    def _gradient_step(self, batch: dict[str, Any]) -> None:
        with self.together():
            outputs = self.module.forward_train({DEFAULT_MODULE_ID: batch})
            losses = self.compute_losses(fwd_out=outputs, batch={DEFAULT_MODULE_ID: batch})
        self.compute_gradients(losses)
        parameters = list(self._params.values())
        self.reduce_gradients(parameters, batch["action"].numel())
        norm = self._clip(parameters)
        require_finite("gradient norm", norm)
        if self._logging:
            self.metrics.log_value((DEFAULT_MODULE_ID, "gradient_norm"), float(norm), window=1)
        self.get_optimizer(DEFAULT_MODULE_ID).step()

    def _clip(self, parameters: list[torch.nn.Parameter]) -> torch.Tensor:
        """Clip the gradients as RLlib's `grad_clip` and `grad_clip_by` say; their norm before."""
        limit, by = self.config.grad_clip, self.config.grad_clip_by
        norm = torch.nn.utils.get_total_norm([item.grad for item in parameters if item.grad is not None])
        if limit is None:
            return norm
        if by == "value":
            torch.nn.utils.clip_grad_value_(parameters, limit)
        elif by == "norm":
            for parameter in parameters:
                torch.nn.utils.clip_grad_norm_([parameter], limit)
        elif not norm <= limit:  # `clip_grad_norm_` would multiply by one below it
            torch.nn.utils.clip_grads_with_norm_(parameters, limit, norm)
        return norm

    def _minibatches(self, num_envs: int) -> list[torch.Tensor]:
        if self.config.num_minibatches == 1:
            return [torch.arange(num_envs)]
        order = torch.randperm(num_envs, generator=self._shuffle)
        return list(order.tensor_split(self.config.num_minibatches))

    def _log(self, fragment: Fragment) -> None:
        steps = fragment.action.size
        self.metrics.log_value((ALL_MODULES, NUM_ENV_STEPS_TRAINED), steps, reduce="sum")
        self.metrics.log_value(
            (ALL_MODULES, NUM_ENV_STEPS_TRAINED_LIFETIME), steps, reduce="lifetime_sum", with_throughput=True
        )
        lag = self._weights_seq_no - fragment.weights_version
        self.metrics.log_value((DEFAULT_MODULE_ID, "policy_lag_updates"), lag, window=20)

    def get_state(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        """RLlib's state and that of the minibatch shuffler."""
        state = super().get_state(*arguments, **options)
        state["shuffle"] = self._shuffle.get_state().numpy()
        return state

    def set_state(self, state: dict[str, Any]) -> None:
        """The inverse of `get_state`."""
        version: Any = state.get(WEIGHTS_SEQ_NO, self._weights_seq_no)
        self._weights_seq_no = -1  # RLlib ignores weights that are not newer
        super().set_state(state)
        self._weights_seq_no = version
        if "shuffle" in state:
            self._shuffle.set_state(torch.as_tensor(state["shuffle"], dtype=torch.uint8))


def to_tensors(fragment: Fragment, device: torch.device | str, bootstrap_truncated: bool = True) -> dict[str, Any]:
    """The parts of a fragment that the network and the loss need, as tensors.

    Without `bootstrap_truncated` a step limit ends the episode like a terminal state.
    """

    def tensor(array: Any) -> torch.Tensor:
        return as_tensor(array, device)

    # Only truncated episodes need the value of their final state; that of a terminated one is zero.
    step, env_index = fragment.final_index[:, 0], fragment.final_index[:, 1]
    terminated = fragment.terminated if bootstrap_truncated else fragment.done
    cut = fragment.truncated[step, env_index] & ~terminated[step, env_index]
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
        "terminated": tensor(terminated),
        "truncated": tensor(fragment.truncated),
    }


def select_envs(tensors: dict[str, Any], columns: torch.Tensor) -> dict[str, Any]:
    """The tensors of some of the envs."""
    num_envs = tensors["first"].shape[1]
    if len(columns) == num_envs and torch.equal(columns, torch.arange(num_envs)):
        return tensors
    columns = columns.to(tensors["first"].device)
    observations = tensors[Columns.OBS]
    chosen = _select_finals(tensors, columns) if len(tensors["final_index"]) else {k: tensors[k] for k in _FINALS}
    chosen |= {
        Columns.OBS: observations.of_envs(columns)
        if isinstance(observations, States)
        else {key: rows[:, columns] for key, rows in observations.items()},
        "state": tuple(part[:, columns] for part in tensors["state"]),
    }
    return chosen | {key: rows[:, columns] for key, rows in tensors.items() if key not in chosen}


_FINALS = ("finals", "final_index", "final_state")


def _select_finals(tensors: dict[str, Any], columns: torch.Tensor) -> dict[str, Any]:
    """The final states of some of the envs."""
    place = torch.full((tensors["first"].shape[1],), -1, device=columns.device)
    place[columns] = torch.arange(len(columns), device=columns.device)
    kept = place[tensors["final_index"][:, 1]] >= 0
    index = tensors["final_index"][kept]
    return {
        "finals": {key: rows[kept] for key, rows in tensors["finals"].items()},
        "final_index": torch.stack([index[:, 0], place[index[:, 1]]], 1),
        "final_state": tuple(part[:, kept] for part in tensors["final_state"]),
    }

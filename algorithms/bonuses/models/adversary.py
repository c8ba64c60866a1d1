"""AGAC's adversary: a policy network that learns, slowly, to predict the agent's policy."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.memory.episode_memory import EpisodeMemory
from bonuslab.algorithms.bonuses.models.optimiser import ClippedOptimiser
from bonuslab.algorithms.bonuses.models.shared_model import SharedModel
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.data.tensors import as_tensor
from bonuslab.algorithms.networks import as_tensors, build_policy

State = tuple[Tensor, ...]


def adversary(setting: Setting, learning_rate: float, loss_coefficient: float) -> Adversary:
    """The adversary with these parameters, shared by all terms that use it."""
    key = f"adversary({learning_rate!r}, {loss_coefficient!r})"
    return setting.share(key, lambda: Adversary(setting, learning_rate, loss_coefficient))


class Adversary(SharedModel):
    """π_adv: the family's policy network with its recurrent state, trained on D_KL(π ‖ π_adv).

    The loss is summed over time and averaged over envs. The recurrent state of each env's running episode is carried
    across fragments; after a lost fragment it starts from zero.
    """

    def __init__(self, setting: Setting, learning_rate: float, loss_coefficient: float) -> None:
        super().__init__()
        self._device = setting.device
        self._loss_coefficient = loss_coefficient
        self._policy = build_policy(setting.network, setting.observation_space, setting.num_actions).to(setting.device)
        self._policy.value_head.requires_grad_(False)  # the adversary has no values
        self._optimiser = ClippedOptimiser("AGAC adversary", [self._policy], setting, learning_rate)
        self._memory: EpisodeMemory[State] = EpisodeMemory(
            lambda: tuple(part[:, 0].cpu() for part in self._policy.initial_state(1))
        )
        """[layers, hidden] each, on the CPU, where restored states are."""
        self._divergence: Tensor | None = None
        self._start: State | None = None  # recurrent state before the fragment

    def divergence(self, fragment: Fragment) -> Tensor:
        """[T, N]: D_KL(π(·|s_t) ‖ π_adv(·|s_t)), cached for the fragment."""
        self._turn_to(fragment)
        if self._divergence is None:
            with torch.enable_grad():
                self._divergence = self._run(fragment)
        return self._divergence

    def train(self, fragment: Fragment) -> dict[str, float]:
        kl = self.divergence(fragment)
        with torch.enable_grad():
            loss = self._loss_coefficient * kl.sum() / fragment.num_envs
        metrics = {"adversary_loss": self._optimiser.step(loss, weight=fragment.num_envs)}
        self._divergence = kl.detach()  # the graph is freed
        return metrics

    def again(self) -> None:
        self._divergence = None
        super().again()

    def forget(self) -> None:
        self._divergence = self._start = None
        super().forget()

    def _run(self, fragment: Fragment) -> Tensor:
        T, N = fragment.action.shape
        if self._start is None:
            envs = [self._memory.recall(fragment, n) for n in range(N)]
            self._start = tuple(
                torch.stack(parts, dim=1).to(self._device) for parts in zip(*envs, strict=True)
            )  # [layers, N, hidden]
        rows = {key: part[:T] for key, part in fragment.observations.items()}
        first = as_tensor(fragment.first[:T], self._device)
        output = self._policy.unroll(as_tensors(rows, self._device), first, self._start)
        after = [part.detach().cpu() for part in output.state]
        for n in range(N):
            self._memory.store(fragment, n, tuple(part[:, n].clone() for part in after))
        log_p = functional.log_softmax(as_tensor(fragment.behaviour_logits, self._device), dim=-1)
        return divergence(log_p, functional.log_softmax(output.logits, dim=-1))


def divergence(log_p: Tensor, log_q: Tensor) -> Tensor:
    """[...]: D_KL(p ‖ q) over the last axis of log-probabilities; actions with p = 0 add nothing."""
    p = log_p.exp()
    return torch.where(p > 0, p * (log_p - log_q), torch.zeros_like(p)).sum(-1)

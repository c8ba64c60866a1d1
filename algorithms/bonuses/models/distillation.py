"""Random network distillation: a predictor learns the output of a fixed random network on visited states."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import torch
from torch import Tensor, nn

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.models.bonus_encoder import bonus_encoder
from bonuslab.algorithms.bonuses.models.frame_distillation import FrameDistillation, frame_distillation
from bonuslab.algorithms.bonuses.models.optimiser import ClippedOptimiser, OptimiserKind
from bonuslab.algorithms.bonuses.models.random_encoder import RandomEncoder, random_encoder
from bonuslab.algorithms.bonuses.models.sampled_step import StepSampler
from bonuslab.algorithms.bonuses.models.shared_model import SharedModel
from bonuslab.algorithms.bonuses.models.visited import RandomSubset, visited_rows
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.networks import as_tensors
from bonuslab.algorithms.networks.distinct import per_distinct

Networks = Literal["shared", "full", "atari"]
Convention = Literal["reference", "paper", "habitat"]
_EMBEDDING = 128


def distillation(
    setting: Setting,
    networks: Networks,
    convention: Convention,
    learning_rate: float,
    keep: float = 1.0,
    optimiser: OptimiserKind = "adam",
) -> Distillation | FrameDistillation:
    """The distillation with these parameters, shared by all terms that use it."""
    if networks == "atari":
        return frame_distillation(setting, convention, learning_rate, keep)
    rest = ("" if keep == 1 else f", {keep!r}") + ("" if optimiser == "adam" else f", {optimiser}")
    key = f"distillation({networks}, {convention}, {learning_rate!r}{rest})"
    return setting.share(key, lambda: Distillation(setting, networks, convention, learning_rate, keep, optimiser))


class Distillation(SharedModel):
    """Features are the errors f(s) − f̄(s) of the predictor f against the frozen random target f̄.

    `networks="shared"`, as released for the combined bonuses: a frozen random encoder feeds a small frozen target
    (d → 128 → 128 → 128 → 128) and a deeper predictor (d → d → d → 128 → 128 → 128); the loss is the mean over
    states. `networks="full"`, as released for RND alone: target and predictor are whole encoders; the loss is summed
    over time and averaged over envs. The loss of a state is its bonus, ‖f − f̄‖ or its square.

    Trains on each state once (every s_{t+1} and the first state of each episode), or on a random fraction `keep`.
    With "habitat", as released there, the bonus is the norm, and an update takes s_t of one random step of all envs and
    the mean of (f − f̄)² over states and features.
    """

    def __init__(
        self,
        setting: Setting,
        networks: Networks,
        convention: Convention,
        learning_rate: float,
        keep: float,
        optimiser: OptimiserKind,
    ) -> None:
        super().__init__()
        self._device = setting.device
        self._networks = networks
        self._convention = convention
        self._encoder: RandomEncoder | None = None
        self._target: nn.Module
        self._predictor: nn.Module
        if networks == "shared":
            self._encoder = random_encoder(setting)
            d = self._encoder.size
            self._target = _mlp(d, _EMBEDDING, _EMBEDDING, _EMBEDDING, _EMBEDDING)
            self._predictor = _mlp(d, d, d, _EMBEDDING, _EMBEDDING, _EMBEDDING)
        else:
            self._target = bonus_encoder(setting)
            self._predictor = bonus_encoder(setting)
        self._target.to(setting.device).requires_grad_(False)
        self._predictor.to(setting.device)
        self._subset = RandomSubset(keep, setting.seed)
        self._steps = StepSampler(setting.seed) if convention == "habitat" else None
        self._optimiser = ClippedOptimiser("RND predictor", [self._predictor], setting, learning_rate, optimiser)

    def encode(self, fragment: Fragment) -> Tensor:
        inputs: Any = (
            as_tensors(fragment.states(), self._device)
            if self._encoder is None
            else self._encoder.features(fragment).states
        )
        with torch.set_grad_enabled(self._steps is None):
            return self._errors(inputs)

    def novelty(self, fragment: Fragment) -> Tensor:
        """[(T + 1) N + F]: ‖f − f̄‖, or ‖f − f̄‖² with "paper", of every state, without gradients."""
        return self._size(self.features(fragment).states.detach())

    def train(self, fragment: Fragment) -> dict[str, float]:
        with torch.enable_grad():
            if self._steps is None:
                sizes = self._size(self.features(fragment).states[self._subset.of(visited_rows(fragment))])
            else:
                errors = self._errors(self._sampled(fragment, self._steps.step(fragment)))
                sizes = errors[self._subset.of(torch.arange(len(errors)))].square().mean(-1)
            summed = self._networks == "full" and self._steps is None  # over time
            weight = fragment.num_envs if summed else len(sizes)
            loss = sizes.sum() / weight
        return {"predictor_loss": self._optimiser.step(loss, weight)}

    def _sampled(self, fragment: Fragment, t: int) -> Any:
        """The networks' inputs for s_t of all envs."""
        if self._encoder is None:
            return as_tensors({key: rows[t] for key, rows in fragment.observations.items()}, self._device)
        return self._encoder.features(fragment).states[t * fragment.num_envs : (t + 1) * fragment.num_envs]

    def _errors(self, inputs: Any) -> Tensor:
        if isinstance(inputs, Tensor) and inputs.device.type == "cpu":  # equal states have equal features
            return per_distinct(self._errors_of_each, inputs)
        return self._errors_of_each(inputs)

    def _errors_of_each(self, inputs: Any) -> Tensor:
        # With gradients also for the target, which has none: then both update their statistics of images alike.
        return self._predictor(inputs) - self._target(inputs)

    def _size(self, errors: Tensor) -> Tensor:
        if self._convention == "paper":
            return errors.square().sum(-1)
        return torch.linalg.vector_norm(errors, dim=-1)


def _mlp(*sizes: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1])

"""Features learnt by predicting the action between two states and the next state's features (ICM, RIDE)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.models.bonus_encoder import bonus_encoder
from bonuslab.algorithms.bonuses.models.dynamics_heads import head
from bonuslab.algorithms.bonuses.models.optimiser import ClippedOptimiser, OptimiserKind
from bonuslab.algorithms.bonuses.models.sampled_step import StepSampler
from bonuslab.algorithms.bonuses.models.shared_model import Features, SharedModel
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.data.tensors import as_tensor
from bonuslab.algorithms.networks import as_tensors

ErrorSize = Literal["half_square", "norm", "mean_square"]
"""½ ‖e‖² (Pathak et al., 2017), ‖e‖ (released for MiniHack), or the mean of e² over features (released for Habitat)."""
_HIDDEN = 256
_FORWARD_HIDDEN = {"minihack": 1024, "habitat": 512}  # released code: as many as φ has features


def forward_dynamics(
    setting: Setting,
    error: ErrorSize,
    forward_coefficient: float,
    inverse_coefficient: float,
    learning_rate: float,
    optimiser: OptimiserKind = "adam",
) -> ForwardDynamics:
    """The model with these parameters, shared by all terms that use it."""
    rest = "" if optimiser == "adam" else f", {optimiser}"
    key = f"forward_dynamics({error}, {forward_coefficient!r}, {inverse_coefficient!r}, {learning_rate!r}{rest})"
    coefficients = (forward_coefficient, inverse_coefficient)
    return setting.share(key, lambda: ForwardDynamics(setting, error, coefficients, learning_rate, optimiser))


class ForwardDynamics(SharedModel):
    """Encoder φ, inverse model g(φ(s_t), φ(s_{t+1})) → a_t and forward model h(φ(s_t), a_t) → φ(s_{t+1}), together.

    Loss: forward coefficient · Σ_t size(h − φ(s_{t+1})) + inverse coefficient · Σ_t cross-entropy(g, a_t), mean over
    envs. Both train the encoder. Gradients of the three networks are clipped separately. The models have one hidden
    layer of 256; the forward model's is wider as released: 1024 for MiniHack, 512 for Habitat. In the Habitat variant
    an update takes one random step of all envs, as for E3B.
    """

    def __init__(
        self,
        setting: Setting,
        error: ErrorSize,
        coefficients: tuple[float, float],
        learning_rate: float,
        optimiser: OptimiserKind,
    ) -> None:
        super().__init__()
        self._device = setting.device
        self._num_actions = setting.num_actions
        self._size = error
        self._coefficients = coefficients
        encoder = bonus_encoder(setting)
        d = encoder.output_size
        hidden = _FORWARD_HIDDEN.get(setting.variant, _HIDDEN)
        self._networks = nn.ModuleDict(
            {
                "encoder": encoder,
                "inverse": head(setting, 2 * d, _HIDDEN, setting.num_actions),
                "forward_model": head(setting, d + setting.num_actions, hidden, d),
            }
        )
        networks = list(self._networks.values())
        self._optimiser = ClippedOptimiser("forward and inverse dynamics", networks, setting, learning_rate, optimiser)
        self._steps = StepSampler(setting.seed) if setting.variant == "habitat" else None

    def encode(self, fragment: Fragment) -> Tensor:
        with torch.set_grad_enabled(self._steps is None):
            return self._networks["encoder"](as_tensors(fragment.states(), self._device))

    def forward_error(self, fragment: Fragment) -> Tensor:
        """[T, N]: the size of h(φ(s_t), a_t) − φ(s_{t+1}), without gradients."""
        features = self.features(fragment)
        with torch.no_grad():
            return self._error(features, as_tensor(fragment.action, self._device))

    def train(self, fragment: Fragment) -> dict[str, float]:
        forward_coefficient, inverse_coefficient = self._coefficients
        with torch.enable_grad():
            features, action = self._transitions(fragment)
            logits = self._networks["inverse"](torch.cat([features.current, features.following], dim=-1))  # [T, N, A]
            inverse_loss = functional.cross_entropy(logits.flatten(0, 1), action.flatten(), reduction="sum")
            forward_loss = self._error(features, action).sum()
            loss = (inverse_coefficient * inverse_loss + forward_coefficient * forward_loss) / fragment.num_envs
        self._optimiser.step(loss, weight=fragment.num_envs)
        return {
            "forward_loss": float(forward_loss.detach()) / fragment.num_envs,
            "inverse_loss": float(inverse_loss.detach()) / fragment.num_envs,
        }

    def _transitions(self, fragment: Fragment) -> tuple[Features, Tensor]:
        """Features and actions [T, N] of the steps to train on; T is 1 if one is sampled."""
        if self._steps is None:
            return self.features(fragment), as_tensor(fragment.action, self._device)
        sampled = self._steps.draw(fragment)
        states = self._networks["encoder"](as_tensors(sampled.observations, self._device))
        following = torch.arange(len(states)).view(2, -1)[1:]
        return Features(states, following), as_tensor(sampled.action[None], self._device)

    def _error(self, features: Features, action: Tensor) -> Tensor:
        """[T, N]: the size of the forward model's error."""
        taken = functional.one_hot(action, self._num_actions).to(features.states.dtype)  # [T, N, A]
        error = self._networks["forward_model"](torch.cat([features.current, taken], dim=-1)) - features.following
        if self._size == "norm":
            return error.norm(dim=-1)
        return 0.5 * error.square().sum(-1) if self._size == "half_square" else error.square().mean(-1)

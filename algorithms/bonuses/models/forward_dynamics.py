"""Features learnt by predicting the action between two states and the next state's features (ICM, RIDE)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.models.optimiser import ClippedAdam
from bonuslab.algorithms.bonuses.models.shared_model import Features, SharedModel
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.data.tensors import as_tensor
from bonuslab.algorithms.networks import as_tensors, build_encoder

ForwardLoss = Literal["half_square", "norm"]
_HIDDEN = 256


def forward_dynamics(
    setting: Setting,
    forward_loss: ForwardLoss,
    forward_coefficient: float,
    inverse_coefficient: float,
    learning_rate: float,
) -> ForwardDynamics:
    """The model with these parameters, shared by all terms that use it."""
    key = f"forward_dynamics({forward_loss}, {forward_coefficient!r}, {inverse_coefficient!r}, {learning_rate!r})"
    return setting.share(
        key,
        lambda: ForwardDynamics(setting, forward_loss, forward_coefficient, inverse_coefficient, learning_rate),
    )


class ForwardDynamics(SharedModel):
    """Encoder φ, inverse model g(φ(s_t), φ(s_{t+1})) → a_t and forward model h(φ(s_t), a_t) → φ(s_{t+1}), together.

    Loss: inverse_coefficient · Σ_t cross-entropy(g, a_t) + forward_coefficient · Σ_t L(h − φ(s_{t+1})), mean over
    envs, with L half the square (Pathak et al., 2017) or the norm (RIDE's released code). Both train the encoder.
    Gradients of the three networks are clipped separately; each model has one hidden layer of 256.
    """

    def __init__(
        self,
        setting: Setting,
        forward_loss: ForwardLoss,
        forward_coefficient: float,
        inverse_coefficient: float,
        learning_rate: float,
    ) -> None:
        super().__init__()
        self._device = setting.device
        self._num_actions = setting.num_actions
        self._forward_loss = forward_loss
        self._coefficients = (forward_coefficient, inverse_coefficient)
        encoder = build_encoder(setting.network, setting.observation_space)
        d = encoder.output_size
        self._networks = nn.ModuleDict(
            {
                "encoder": encoder,
                "inverse": nn.Sequential(nn.Linear(2 * d, _HIDDEN), nn.ReLU(), nn.Linear(_HIDDEN, setting.num_actions)),
                "forward_model": nn.Sequential(
                    nn.Linear(d + setting.num_actions, _HIDDEN), nn.ReLU(), nn.Linear(_HIDDEN, d)
                ),
            }
        ).to(setting.device)
        self._optimiser = ClippedAdam(
            "forward and inverse dynamics", list(self._networks.values()), setting, learning_rate
        )

    def encode(self, fragment: Fragment) -> Tensor:
        with torch.enable_grad():
            return self._networks["encoder"](as_tensors(fragment.states(), self._device))

    def forward_error(self, fragment: Fragment) -> Tensor:
        """[T, N, d]: h(φ(s_t), a_t) − φ(s_{t+1}), without gradients."""
        with torch.no_grad():
            return self._error(fragment, self.features(fragment))

    def train(self, fragment: Fragment) -> dict[str, float]:
        features = self.features(fragment)
        forward_coefficient, inverse_coefficient = self._coefficients
        with torch.enable_grad():
            logits = self._networks["inverse"](torch.cat([features.current, features.following], dim=-1))  # [T, N, A]
            inverse_loss = functional.cross_entropy(
                logits.flatten(0, 1), self._action(fragment).flatten(), reduction="sum"
            )
            error = self._error(fragment, features)
            sizes = 0.5 * error.square().sum(-1) if self._forward_loss == "half_square" else error.norm(dim=-1)
            loss = (inverse_coefficient * inverse_loss + forward_coefficient * sizes.sum()) / fragment.num_envs
        self._optimiser.step(loss, weight=fragment.num_envs)
        return {
            "forward_loss": float(sizes.detach().sum()) / fragment.num_envs,
            "inverse_loss": float(inverse_loss.detach()) / fragment.num_envs,
        }

    def _error(self, fragment: Fragment, features: Features) -> Tensor:
        taken = functional.one_hot(self._action(fragment), self._num_actions).to(features.states.dtype)  # [T, N, A]
        return self._networks["forward_model"](torch.cat([features.current, taken], dim=-1)) - features.following

    def _action(self, fragment: Fragment) -> Tensor:
        return as_tensor(fragment.action, self._device)

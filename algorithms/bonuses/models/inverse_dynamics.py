"""Features that tell which action was taken: an encoder trained by an inverse-dynamics model."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.models.optimiser import ClippedAdam
from bonuslab.algorithms.bonuses.models.source import Source
from bonuslab.algorithms.data.finite import require_finite
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.data.tensors import as_tensor
from bonuslab.algorithms.networks import as_tensors, build_encoder

_HIDDEN = 256  # paper, appendix "Architecture Details"


def inverse_dynamics(setting: Setting, learning_rate: float) -> InverseDynamics:
    """The inverse-dynamics features of an expression: one network for all terms with the same learning rate."""
    key = f"inverse_dynamics({learning_rate!r})"
    return setting.share(key, lambda: InverseDynamics(setting, learning_rate))


class InverseDynamics(Source):
    """φ such that a head (2d → 256 → A, ReLU) predicts a_t from φ(s_t) and φ(s_{t+1}).

    The loss is the cross-entropy, summed over time and averaged over envs. The step that ends an episode uses the
    state the episode really ended on. Encoder and head each have their own Adam and gradient clip, as released.
    """

    def __init__(self, setting: Setting, learning_rate: float) -> None:
        super().__init__()
        self._setting = setting
        self._encoder = build_encoder(setting.network, setting.observation_space).to(setting.device)
        self.size = self._encoder.output_size
        self._head = nn.Sequential(
            nn.Linear(2 * self.size, _HIDDEN), nn.ReLU(), nn.Linear(_HIDDEN, setting.num_actions)
        ).to(setting.device)
        self._encoder_optimiser = ClippedAdam(
            "inverse-dynamics encoder", self._encoder.parameters(), setting, learning_rate
        )
        self._head_optimiser = ClippedAdam("inverse-dynamics head", self._head.parameters(), setting, learning_rate)

    def encode(self, fragment: Fragment) -> Tensor:
        with torch.enable_grad():
            return self._encoder(as_tensors(fragment.states(), self._setting.device))

    def logits(self, fragment: Fragment) -> Tensor:
        """[T, N, A]: what the head makes of each transition."""
        features = self.features(fragment)
        with torch.enable_grad():
            return self._head(torch.cat([features.current, features.following], dim=-1))

    def train(self, fragment: Fragment) -> dict[str, float]:
        action = as_tensor(fragment.action, self._setting.device)
        logits = self.logits(fragment)
        with torch.enable_grad():
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), action.flatten(), reduction="sum")
            loss = loss / fragment.num_envs
        require_finite("inverse-dynamics loss", loss.detach())
        self._encoder_optimiser.zero_grad()
        self._head_optimiser.zero_grad()
        loss.backward()
        self._encoder_optimiser.apply_gradients(weight=fragment.num_envs)
        self._head_optimiser.apply_gradients(weight=fragment.num_envs)
        accuracy = (logits.detach().argmax(-1) == action).double().mean()
        return {"inverse_dynamics_loss": float(loss.detach()), "inverse_dynamics_accuracy": float(accuracy)}

    def state_dict(self) -> dict[str, Any]:
        return {
            "encoder": self._encoder.state_dict(),
            "head": self._head.state_dict(),
            "encoder_optimiser": self._encoder_optimiser.state_dict(),
            "head_optimiser": self._head_optimiser.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.forget()
        self._encoder.load_state_dict(state["encoder"])
        self._head.load_state_dict(state["head"])
        self._encoder_optimiser.load_state_dict(state["encoder_optimiser"])
        self._head_optimiser.load_state_dict(state["head_optimiser"])

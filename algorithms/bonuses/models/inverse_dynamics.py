"""Features that reveal the action taken: an encoder trained by an inverse-dynamics model."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.models.bonus_encoder import bonus_encoder
from bonuslab.algorithms.bonuses.models.dynamics_heads import head
from bonuslab.algorithms.bonuses.models.optimiser import ClippedOptimiser
from bonuslab.algorithms.bonuses.models.sampled_step import StepSampler
from bonuslab.algorithms.bonuses.models.shared_model import SharedModel
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.data.tensors import as_tensor
from bonuslab.algorithms.networks import as_tensors
from bonuslab.algorithms.networks.distinct import distinct_rows

_HIDDEN = 256  # paper, appendix "Architecture Details"


def inverse_dynamics(setting: Setting, learning_rate: float) -> InverseDynamics:
    """The inverse-dynamics features, shared by all terms with the same learning rate."""
    key = f"inverse_dynamics({learning_rate!r})"
    return setting.share(key, lambda: InverseDynamics(setting, learning_rate))


class InverseDynamics(SharedModel):
    """φ such that a head (2d → 256 → A, ReLU) predicts a_t from φ(s_t) and φ(s_{t+1}).

    The loss is the cross-entropy, summed over time and averaged over envs. The step that ends an episode uses its
    true final state. Gradients of encoder and head are clipped separately, as released. In the Habitat variant an
    update takes one random step of all envs, without a mask at episode ends.
    """

    def __init__(self, setting: Setting, learning_rate: float) -> None:
        super().__init__()
        self._device = setting.device
        self._encoder = bonus_encoder(setting)
        self.size = self._encoder.output_size
        self._head = head(setting, 2 * self.size, _HIDDEN, setting.num_actions)
        self._optimiser = ClippedOptimiser("inverse-dynamics", [self._encoder, self._head], setting, learning_rate)
        self._steps = StepSampler(setting.seed) if setting.variant == "habitat" else None

    def encode(self, fragment: Fragment) -> Tensor:
        with torch.set_grad_enabled(self._steps is None):
            states = {key: rows[None] for key, rows in as_tensors(fragment.states(), self._device).items()}
            features, rows = self._encoder.encode(self._encoder.prepare(states))
            shown = torch.arange(len(features), device=self._device) if rows is None else rows[0]
            self._distinct = features, shown
            return nn.functional.embedding(shown, features)

    def logits(self, fragment: Fragment) -> Tensor:
        """[T, N, A]: the head's output for [φ(s_t), φ(s_{t+1})] of each transition.

        Each half of the head's first layer is computed once per distinct state, the rest once per distinct transition.
        """
        following = self.features(fragment).next_index
        features, shown = self._distinct
        pairs = torch.stack([shown[: following.numel()], shown[following.flatten()]], 1)  # [T N, 2]
        example, place = distinct_rows(pairs)
        first, *later = self._head
        assert isinstance(first, nn.Linear)
        with torch.enable_grad():
            now, then = (features @ half.t() for half in first.weight.split(self.size, 1))
            before, after = pairs[example].unbind(1)
            hidden = nn.functional.embedding(before, now) + nn.functional.embedding(after, then) + first.bias
            return nn.functional.embedding(place, nn.Sequential(*later)(hidden)).view(*following.shape, -1)

    def train(self, fragment: Fragment) -> dict[str, float]:
        if self._steps is None:
            action = as_tensor(fragment.action, self._device)
            logits = self.logits(fragment)
        else:
            sampled = self._steps.draw(fragment)
            action = as_tensor(sampled.action, self._device)
            with torch.enable_grad():
                states = self._encoder(as_tensors(sampled.observations, self._device))
                logits = self._head(torch.cat(states.chunk(2), dim=-1))
        with torch.enable_grad():
            loss = nn.functional.cross_entropy(logits.flatten(0, -2), action.flatten(), reduction="sum")
            loss = loss / fragment.num_envs
        accuracy = (logits.detach().argmax(-1) == action).double().mean()
        value = self._optimiser.step(loss, weight=fragment.num_envs)
        return {"inverse_dynamics_loss": value, "inverse_dynamics_accuracy": float(accuracy)}

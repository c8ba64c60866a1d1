"""A network that is never trained: fixed random features of states."""

from __future__ import annotations

import torch
from torch import Tensor

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.models.bonus_encoder import bonus_encoder
from bonuslab.algorithms.bonuses.models.shared_model import SharedModel
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.networks import as_tensors


def random_encoder(setting: Setting) -> RandomEncoder:
    """The frozen encoder, shared by all terms that use it."""
    return setting.share("random_encoder", lambda: RandomEncoder(setting))


class RandomEncoder(SharedModel):
    """An encoder of the setting's network family that keeps its initial weights."""

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self._device = setting.device
        self._encoder = bonus_encoder(setting).requires_grad_(False)
        self.size = self._encoder.output_size

    def encode(self, fragment: Fragment) -> Tensor:
        with torch.no_grad():
            return self._encoder(as_tensors(fragment.states(), self._device))

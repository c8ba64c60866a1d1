"""A network that is never trained: a fixed random projection of states."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.models.source import Source
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.networks import as_tensors, build_encoder


def random_encoder(setting: Setting) -> RandomEncoder:
    """The frozen encoder of an expression: one for all terms that ask for it."""
    return setting.share("random_encoder", lambda: RandomEncoder(setting))


class RandomEncoder(Source):
    """An encoder of the setting's network family with the weights it was born with."""

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self._setting = setting
        self._encoder = build_encoder(setting.network, setting.observation_space).to(setting.device)
        self._encoder.requires_grad_(False)
        self.size = self._encoder.output_size

    def encode(self, fragment: Fragment) -> Tensor:
        with torch.no_grad():
            return self._encoder(as_tensors(fragment.states(), self._setting.device))

    def state_dict(self) -> dict[str, Any]:
        return {"encoder": self._encoder.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.forget()
        self._encoder.load_state_dict(state["encoder"])

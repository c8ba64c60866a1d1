"""E3B's encoder on Montezuma's Revenge: a fixed random network of the predictor's architecture."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.models.source import Source
from bonuslab.algorithms.bonuses.models.whitened_frames import whitened_frames
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.networks.atari_frames import FRAME_FEATURES, frame_predictor


def frame_encoder(setting: Setting) -> FrameEncoder:
    """The frozen encoder of an expression: one for all terms that ask for it."""
    return setting.share("frame_encoder", lambda: FrameEncoder(setting))


class FrameEncoder(Source):
    """512 features of the whitened last frame, by a network with the weights it was born with."""

    size = FRAME_FEATURES

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self._frames = whitened_frames(setting)
        self._network = frame_predictor().to(setting.device).requires_grad_(False)

    def encode(self, fragment: Fragment) -> Tensor:
        return self._frames.through(fragment, self._network)

    def train(self, fragment: Fragment) -> dict[str, float]:
        return self._frames.learn(fragment)

    def state_dict(self) -> dict[str, Any]:
        return {"network": self._network.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.forget()
        self._network.load_state_dict(state["network"])

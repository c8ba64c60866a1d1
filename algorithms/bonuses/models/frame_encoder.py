"""E3B's encoder on Montezuma's Revenge: a fixed random network with the architecture of RND's predictor."""

from __future__ import annotations

from torch import Tensor

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.models.shared_model import SharedModel
from bonuslab.algorithms.bonuses.models.whitened_frames import whitened_frames
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.networks.atari_frames import frame_predictor


def frame_encoder(setting: Setting) -> FrameEncoder:
    """The frozen frame encoder, shared by all terms that use it."""
    return setting.share("frame_encoder", lambda: FrameEncoder(setting))


class FrameEncoder(SharedModel):
    """512 features of the whitened last frame from a network that keeps its initial weights."""

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self._frames = whitened_frames(setting)
        self._network = frame_predictor().to(setting.device).requires_grad_(False)

    def encode(self, fragment: Fragment) -> Tensor:
        return self._frames.through(fragment, self._network)

    def train(self, fragment: Fragment) -> dict[str, float]:
        return self._frames.learn(fragment)

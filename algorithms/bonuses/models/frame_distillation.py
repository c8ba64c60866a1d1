"""Random network distillation on Montezuma's Revenge, as in the code that the paper builds on."""

from __future__ import annotations

import torch
from torch import Tensor

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.models.optimiser import ClippedOptimiser
from bonuslab.algorithms.bonuses.models.shared_model import SharedModel
from bonuslab.algorithms.bonuses.models.visited import RandomSubset, visited_rows
from bonuslab.algorithms.bonuses.models.whitened_frames import STATES_AT_ONCE, whitened_frames
from bonuslab.algorithms.data.finite import require_finite
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.algorithms.networks.atari_frames import FRAME_FEATURES, frame_predictor, frame_target


def frame_distillation(setting: Setting, convention: str, learning_rate: float, keep: float) -> FrameDistillation:
    """The distillation with these parameters, shared by all terms that use it."""
    key = f"frame_distillation({convention}, {learning_rate!r}, {keep!r})"
    return setting.share(key, lambda: FrameDistillation(setting, convention, learning_rate, keep))


class FrameDistillation(SharedModel):
    """Features are the errors f(x) − f̄(x) of predictor f and fixed random target f̄ on the whitened last frame x.

    Each update trains the predictor on a random fraction `keep` of the visited states: the mean of (f − f̄)² over those
    states and the 512 outputs. Bonuses are computed before the update of networks and moments.
    """

    def __init__(self, setting: Setting, convention: str, learning_rate: float, keep: float) -> None:
        super().__init__()
        self._convention = convention
        self._frames = whitened_frames(setting)
        self._target = frame_target().to(setting.device).requires_grad_(False)
        self._predictor = frame_predictor().to(setting.device)
        self._optimiser = ClippedOptimiser("RND predictor", [self._predictor], setting, learning_rate)
        self._subset = RandomSubset(keep, setting.seed)

    def encode(self, fragment: Fragment) -> Tensor:
        return self._frames.through(fragment, self._predictor) - self._frames.through(fragment, self._target)

    def novelty(self, fragment: Fragment) -> Tensor:
        """[(T + 1) N + F]: ½ ‖f − f̄‖² ("reference", as released) or ‖f − f̄‖² ("paper") of every state."""
        squares = self.features(fragment).states.square().sum(-1)
        return squares if self._convention == "paper" else 0.5 * squares

    def train(self, fragment: Fragment) -> dict[str, float]:
        self._frames.learn(fragment)
        rows = self._subset.of(visited_rows(fragment))
        frames = self._frames.last(fragment)[rows]
        self._optimiser.zero_grad()
        loss = 0.0
        for part in frames.split(STATES_AT_ONCE):
            white = self._frames.whiten(part)
            with torch.no_grad():
                target = self._target(white)
            with torch.enable_grad():
                share = (self._predictor(white) - target).square().sum() / (FRAME_FEATURES * len(rows))
                require_finite("RND predictor loss", share.detach())
                share.backward()
            loss += float(share.detach())
        self._optimiser.apply_gradients(weight=len(rows))
        return {"predictor_loss": loss}

"""The last frame of every state, whitened by running pixel moments: the input of Montezuma's bonuses."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.models.pixel_moments import PixelMoments
from bonuslab.algorithms.bonuses.models.shared_model import SharedModel
from bonuslab.algorithms.bonuses.models.visited import visited_rows
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.envs.errors import InvalidInput

KEY = "frames"
SIZE = (84, 84)
"""The input of the networks in `networks/atari_frames.py`."""
STATES_AT_ONCE = 512
"""Limits memory: a whitened rollout of 128 × 128 steps alone takes half a gigabyte."""


def whitened_frames(setting: Setting) -> WhitenedFrames:
    """The frames with one normaliser, shared by all terms that use them."""
    return setting.share("whitened_frames", lambda: WhitenedFrames(setting))


class WhitenedFrames(SharedModel):
    """Tracks mean and deviation of each pixel over all visited frames of all replicas.

    As released, bonuses use the moments from before the fragment, which is added to them before any network trains on
    it. `warm_up` adds the frames of a random policy before training.
    """

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        space = setting.observation_space.spaces.get(KEY)
        if space is None or space.shape is None or space.shape[1:] != SIZE or space.dtype != np.uint8:
            given = ", ".join(f"{key} {space.shape}" for key, space in sorted(setting.observation_space.spaces.items()))
            raise InvalidInput(
                f"the atari networks need the observation '{KEY}' of {SIZE[0]} × {SIZE[1]} grey pixels; "
                f"this environment has {given}"
            )
        self._setting = setting
        self._moments = PixelMoments(*SIZE)
        self._counted = False  # whether the moments include the fragment

    def last(self, fragment: Fragment) -> Tensor:
        """[(T + 1) N + F, 84, 84] uint8: rows as in `Fragment.states()`."""
        rows = fragment.observations[KEY][:, :, -1].reshape(-1, *SIZE)
        if len(fragment.final_index):
            rows = np.concatenate([rows, fragment.finals[KEY][:, -1]])
        return torch.from_numpy(rows)

    def whiten(self, frames: Tensor) -> Tensor:
        """[B, 1, 84, 84] float32 on the bonus's device, from frames [B, 84, 84]."""
        return self._moments.whiten(frames.to(self._setting.device))

    def through(self, fragment: Fragment, network: nn.Module) -> Tensor:
        """[(T + 1) N + F, d]: the network's output for every state's last frame, without gradients."""
        with torch.no_grad():
            return torch.cat([network(self.whiten(rows)) for rows in self.last(fragment).split(STATES_AT_ONCE)])

    def train(self, fragment: Fragment) -> dict[str, float]:
        if not self._counted:
            self.warm_up(fragment)
            self._counted = True
        return {}

    def warm_up(self, fragment: Fragment) -> None:
        sums = PixelMoments.sums(self.last(fragment)[visited_rows(fragment)])
        self._moments.merge(self._setting.collectives.sum(sums))

    def forget(self) -> None:
        self._counted = False
        super().forget()

"""The last frame of every state, whitened by the moments of all frames so far: what Montezuma's bonuses look at."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bonuslab.algorithms.bonuses.algebra.setting import Setting
from bonuslab.algorithms.bonuses.models.pixel_moments import PixelMoments
from bonuslab.algorithms.bonuses.models.source import Source
from bonuslab.algorithms.bonuses.models.visited import visited_rows
from bonuslab.algorithms.data.fragment import Fragment
from bonuslab.envs.errors import InvalidInput

KEY = "frames"
SIZE = (84, 84)
"""What the networks of `networks/atari_frames.py` are made for."""
STATES_AT_ONCE = 512
"""More would need gigabytes: a whitened rollout of 128 × 128 steps alone has half of one."""


def whitened_frames(setting: Setting) -> WhitenedFrames:
    """The frames of an expression: one normaliser for all terms that look at them."""
    return setting.share("whitened_frames", lambda: WhitenedFrames(setting))


class WhitenedFrames(Source):
    """Knows the mean and deviation of each pixel over every frame visited, in all replicas.

    As released: bonuses are computed with the moments from before the fragment, which then takes part in them before
    anything learns from it. `warm_up` takes in what a random policy saw before training.
    """

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        space = setting.observation_space.spaces.get(KEY)
        if space is None or space.shape is None or space.shape[1:] != SIZE or space.dtype != np.uint8:
            shown = ", ".join(f"{key} {space.shape}" for key, space in sorted(setting.observation_space.spaces.items()))
            raise InvalidInput(
                f"the atari networks of bonuses need the observation '{KEY}' of {SIZE[0]} × {SIZE[1]} grey pixels; "
                f"this environment shows {shown}"
            )
        self._setting = setting
        self._moments = PixelMoments(*SIZE)
        self._counted = False  # whether the moments know the fragment

    def last(self, fragment: Fragment) -> Tensor:
        """[(T + 1) N + F, 84, 84] uint8: rows as in `Fragment.states()`."""
        rows = fragment.observations[KEY][:, :, -1].reshape(-1, *SIZE)
        if len(fragment.final_index):
            rows = np.concatenate([rows, fragment.finals[KEY][:, -1]])
        return torch.from_numpy(rows)

    def whiten(self, frames: Tensor) -> Tensor:
        """[B, 1, 84, 84] float32 on the bonus's device, of frames [B, 84, 84]."""
        return self._moments.whiten(frames.to(self._setting.device))

    def through(self, fragment: Fragment, network: nn.Module) -> Tensor:
        """[(T + 1) N + F, d]: what the network says of every state's last frame, without gradients."""
        with torch.no_grad():
            return torch.cat([network(self.whiten(rows)) for rows in self.last(fragment).split(STATES_AT_ONCE)])

    def train(self, fragment: Fragment) -> dict[str, float]:
        if not self._counted:
            self.warm_up(fragment)
            self._counted = True
        return {}

    def warm_up(self, fragment: Fragment) -> None:
        sums = PixelMoments.sums(self.last(fragment)[visited_rows(fragment)])
        self._moments.merge(self._setting.replicas.sum(sums))

    def forget(self) -> None:
        self._counted = False
        super().forget()

    def state_dict(self) -> dict[str, Any]:
        return {"moments": self._moments.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.forget()
        self._moments.load_state_dict(state["moments"])

    def _turn_to(self, fragment: Fragment) -> None:
        if fragment is not self._seen:
            self._counted = False
        super()._turn_to(fragment)

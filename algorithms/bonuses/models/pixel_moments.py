"""Running mean and standard deviation of every pixel, to whiten RND's input."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

LIMIT = 5.0
"""Whitened values are clipped to [−5, 5] (Burda et al., 2019; jcwleo's RND, train.py)."""
# A prior of 1e-4 frames with mean 0 and variance 1 keeps deviations above 0, for constant pixels and before the first
# frame. As in the code that the paper builds on.
_PRIOR = 1e-4
_ROWS_AT_ONCE = 512


class PixelMoments:
    """Running moments of frames [B, H, W] uint8.

    Sums of integers are exact, and independent of the order of batches and replicas:
    `merge(collectives.sum(PixelMoments.sums(frames)))`.
    """

    def __init__(self, height: int, width: int) -> None:
        self._shape = (height, width)
        self._sums = torch.zeros(1 + 2 * height * width, dtype=torch.int64)

    @staticmethod
    def sums(frames: Tensor) -> Tensor:
        """[1 + 2 H W] int64: the number of frames, then the sum and the sum of squares of each pixel."""
        pixels = frames[0].numel() if len(frames) else frames.shape[1] * frames.shape[2]
        total = torch.zeros(2, pixels, dtype=torch.int64, device=frames.device)
        for rows in frames.split(_ROWS_AT_ONCE):
            values = rows.flatten(1).to(torch.int32)
            total[0] += values.sum(0)
            total[1] += values.square_().sum(0)
        return torch.cat([total.new_tensor([len(frames)]), total.flatten()]).cpu()

    def merge(self, sums: Tensor) -> None:
        """Add the `sums` of further frames."""
        self._sums += sums

    @property
    def count(self) -> int:
        """Frames seen."""
        return int(self._sums[0])

    @property
    def mean(self) -> Tensor:
        """[H, W] float64."""
        total, _ = self._sums[1:].view(2, *self._shape).double()
        return total / (self.count + _PRIOR)

    @property
    def deviation(self) -> Tensor:
        """[H, W] float64, above 0."""
        _, squares = self._sums[1:].view(2, *self._shape).double()
        variance = (squares + _PRIOR) / (self.count + _PRIOR) - self.mean.square()
        return variance.clamp(min=_PRIOR / (self.count + _PRIOR)).sqrt()

    def whiten(self, frames: Tensor) -> Tensor:
        """[B, 1, H, W] float32: (x − mean) / deviation, clipped to [−5, 5], on the frames' device."""
        mean, deviation = self.mean.to(frames.device), self.deviation.to(frames.device)
        white = (frames - mean.float()) / deviation.float()
        return white.clamp_(-LIMIT, LIMIT).unsqueeze(1)

    def state_dict(self) -> dict[str, Any]:
        """The sums."""
        return {"sums": self._sums.clone()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`."""
        self._sums = state["sums"].clone()

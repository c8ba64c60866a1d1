"""The interface of encoders: a batch of observations in, one feature vector per state out."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from bonuslab.algorithms.data.tensors import as_tensor

Observations = Mapping[str, Tensor]


class Encoder(nn.Module):
    """A feed-forward network from observations [B, ...] to features [B, output_size]."""

    output_size: int

    def forward(self, observations: Observations) -> Tensor:
        """[B, output_size]: features of each state, independent of the rest of the batch."""
        raise TypeError(f"{type(self).__name__} must define forward(observations)")


def as_tensors(observations: Mapping[str, np.ndarray], device: str | torch.device = "cpu") -> dict[str, Tensor]:
    """Observations as tensors; on the CPU they share memory with the arrays."""
    return {key: as_tensor(rows, device) for key, rows in observations.items()}

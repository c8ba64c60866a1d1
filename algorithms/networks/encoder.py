"""What every encoder offers: a batch of observations in, one feature vector a state out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

Observations = Mapping[str, Tensor]


class Encoder(nn.Module):
    """A network without memory that maps observations [B, ...] to features [B, output_size]."""

    output_size: int

    def forward(self, observations: Observations) -> Tensor:
        """[B, output_size]: features of each state, whatever the others in the batch are."""
        raise TypeError(f"{type(self).__name__} must define forward(observations)")


def as_tensors(observations: Mapping[str, np.ndarray], device: str | torch.device = "cpu") -> dict[str, Tensor]:
    """The same observations as tensors; on the CPU they share memory with the arrays."""
    with warnings.catch_warnings():
        # Arrays from Ray's object store are read-only, which is all that networks do with observations.
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return {key: torch.as_tensor(rows, device=device) for key, rows in observations.items()}

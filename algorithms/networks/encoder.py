"""The interface of encoders: a batch of observations in, one feature vector per state out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn

from bonuslab.algorithms.data.tensors import as_tensor

Observations = Mapping[str, Tensor]


class States(ABC):
    """States of T + 1 rows of N envs as an encoder reads them, prepared once for all epochs and minibatches."""

    @abstractmethod
    def of_envs(self, columns: Tensor) -> Self:
        """Those of some of the envs."""


class Encoder(nn.Module):
    """A feed-forward network from observations [B, ...] to features [B, output_size]."""

    output_size: int

    def forward(self, observations: Observations) -> Tensor:
        """[B, output_size]: features of each state, independent of the rest of the batch."""
        raise TypeError(f"{type(self).__name__} must define forward(observations)")

    def prepare(self, observations: Observations) -> Observations | States:
        """What `encode` needs of observations [T + 1, N, ...] whatever the weights; called once per fragment."""
        return observations

    def encode(self, states: Observations | States) -> tuple[Tensor, Tensor | None]:
        """Features of the distinct states [U, d] and the one that each row shows [T + 1, N]; None: each its own."""
        assert isinstance(states, Mapping)
        return self({key: rows.flatten(0, 1) for key, rows in states.items()}), None


def as_tensors(observations: Mapping[str, np.ndarray], device: str | torch.device = "cpu") -> dict[str, Tensor]:
    """Observations as tensors; on the CPU they share memory with the arrays."""
    return {key: as_tensor(rows, device) for key, rows in observations.items()}

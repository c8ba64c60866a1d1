"""Memory for compiled loops to write to."""

from __future__ import annotations

import numpy as np
import torch


def uninitialised(*shape: int) -> torch.Tensor:
    """A float32 tensor that is not filled; in deterministic mode, `torch.empty` would write NaN everywhere first."""
    return torch.from_numpy(np.empty(shape, np.float32))

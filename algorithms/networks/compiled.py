"""When the networks' compiled loops run, and what they read."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from bonuslab.algorithms.networks.kernels.gemm import gemm
from bonuslab.envs.compiling import HAS_NUMBA


def is_compiled(x: Tensor) -> bool:
    """Whether there are compiled loops for tensors like `x`: float32 on the CPU, if PyTorch exports its product."""
    return HAS_NUMBA and x.device.type == "cpu" and x.dtype == torch.float32 and gemm() is not None


def arrays(*tensors: Tensor) -> list[np.ndarray]:
    """The tensors' memory, or a copy of what is not contiguous."""
    return [tensor.detach().contiguous().numpy() for tensor in tensors]

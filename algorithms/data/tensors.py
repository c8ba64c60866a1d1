"""Arrays as tensors on the same memory, read-only ones included."""

from __future__ import annotations

import numpy as np
import torch


def as_tensor(array: np.ndarray, device: str | torch.device = "cpu") -> torch.Tensor:
    """`array` as a tensor, which nobody may write to; on the CPU they share memory.

    Arrays from Ray's object store are read-only. Torch, which has no such tensors, warns of them, so it is shown a view
    that does not say so.
    """
    shown = array if array.flags.writeable else np.asarray(_SeemsWritable(array))
    return torch.from_numpy(shown).to(device)


class _SeemsWritable:
    """An array's memory without its read-only mark; keeps the array alive."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array
        self.__array_interface__ = array.__array_interface__ | {"data": (array.ctypes.data, False)}

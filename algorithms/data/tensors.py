"""NumPy arrays as tensors without a copy, read-only ones included."""

from __future__ import annotations

import numpy as np
import torch


def as_tensor(array: np.ndarray, device: str | torch.device = "cpu") -> torch.Tensor:
    """`array` as a tensor that must not be written to; on the CPU they share memory.

    Arrays from Ray's object store are read-only. Torch has no read-only tensors and warns, so it gets a view without
    the flag.
    """
    shown = array if array.flags.writeable else np.asarray(_SeemsWritable(array))
    return torch.from_numpy(shown).to(device)


class _SeemsWritable:
    """An array's memory without its read-only flag; keeps the array alive."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array
        self.__array_interface__ = array.__array_interface__ | {"data": (array.ctypes.data, False)}

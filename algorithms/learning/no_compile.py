"""Optimisers and deterministic mode that do not import torch.compile, which costs 1.3 s of CPU time at every start.

PyTorch's optimisers tell torch._dynamo not to trace them, and `use_deterministic_algorithms` sets an option of
torch._inductor: both are imported even where nothing is compiled. Values are the same bit for bit.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import unwrap

import torch
from torch.optim import Optimizer


class Untraced(Optimizer):
    """An optimiser's methods without the decorators for torch._dynamo."""

    add_param_group = unwrap(Optimizer.add_param_group)
    zero_grad = unwrap(Optimizer.zero_grad)
    state_dict = unwrap(Optimizer.state_dict)
    load_state_dict = unwrap(Optimizer.load_state_dict)


class Adam(Untraced, torch.optim.Adam):
    """`torch.optim.Adam`."""

    step = torch.no_grad()(unwrap(torch.optim.Adam.step))


class RMSprop(Untraced, torch.optim.RMSprop):
    """`torch.optim.RMSprop`."""

    step = torch.no_grad()(unwrap(torch.optim.RMSprop.step))


@contextmanager
def no_inductor() -> Iterator[None]:
    """Within this context, `torch.use_deterministic_algorithms`, which RLlib calls, does not import torch._inductor.

    Nor does it fill new tensors with NaN, which finds reads of uninitialised memory and takes time.
    """
    original = torch.use_deterministic_algorithms

    def use(mode: bool, *, warn_only: bool = False) -> None:
        if "torch._inductor.config" in sys.modules:
            original(mode, warn_only=warn_only)
        else:
            os.environ["TORCHINDUCTOR_DETERMINISTIC"] = str(int(mode))  # read when it is imported
            torch.set_deterministic_debug_mode((1 if warn_only else 2) if mode else 0)
        torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]

    torch.use_deterministic_algorithms = use
    try:
        yield
    finally:
        torch.use_deterministic_algorithms = original

"""Stop at the first quantity that is not a number, and say which one it is."""

from __future__ import annotations

import torch


class NonFinite(ArithmeticError):  # noqa: N818 (it reads as what it is)
    """A loss, bonus or gradient is NaN or infinite."""


def require_finite(name: str, value: torch.Tensor) -> torch.Tensor:
    """`value` itself, or an error that names it and counts its bad entries."""
    if not bool(torch.isfinite(value).all()):
        bad = int((~torch.isfinite(value)).sum())
        raise NonFinite(f"{name} is not finite: {bad} of {value.numel()} entries are NaN or infinite")
    return value

"""Stop at the first NaN or infinity and name the quantity."""

from __future__ import annotations

import torch


class NonFinite(ArithmeticError):  # noqa: N818 (it reads as what it is)
    """A loss, bonus or gradient is NaN or infinite."""


def require_finite(name: str, value: torch.Tensor) -> torch.Tensor:
    """Return `value`, or raise an error with its name and the number of bad entries."""
    if not bool(torch.isfinite(value).all()):
        bad = int((~torch.isfinite(value)).sum())
        raise NonFinite(f"{name} is not finite: {bad} of {value.numel()} entries are NaN or infinite")
    return value

"""How inner loops are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

_Function = TypeVar("_Function", bound=Callable[..., Any])


def compiled(function: _Function) -> _Function:
    """Machine code on first use, kept on disk, so that later processes start at once."""
    return cast(_Function, numba.njit(cache=True, fastmath=True, error_model="numpy", nogil=True)(function))

"""Compiles inner loops with numba."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from bonuslab.envs.compiling import njit

_Function = TypeVar("_Function", bound=Callable[..., Any])
_SOURCES: Final = hashlib.sha256(
    b"".join(file.read_bytes() for file in sorted(Path(__file__).parent.rglob("*.py")))
).hexdigest()[:8]


def compiled(function: _Function) -> _Function:
    """Compile on first use and cache on disk, so that later processes start at once."""
    # numba invalidates its cache only when the function's own file changes, but constants and functions of other files
    # are compiled in too. It names cache files after the function, so a hash of all sources goes into the name.
    function.__qualname__ += f"-{_SOURCES}"
    return cast(_Function, njit(cache=True, fastmath=True, error_model="numpy", nogil=True)(function))

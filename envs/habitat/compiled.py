"""How inner loops are compiled."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import numba

_Function = TypeVar("_Function", bound=Callable[..., Any])
_SOURCES: Final = hashlib.sha256(
    b"".join(file.read_bytes() for file in sorted(Path(__file__).parent.rglob("*.py")))
).hexdigest()[:8]


def compiled(function: _Function) -> _Function:
    """Machine code on first use, kept on disk, so that later processes start at once."""
    # numba looks only at a function's own file to see whether what it kept is still good, but constants and functions
    # of other files are compiled into it. It names what it keeps after the function.
    function.__qualname__ += f"-{_SOURCES}"
    return cast(_Function, numba.njit(cache=True, fastmath=True, error_model="numpy", nogil=True)(function))

"""Compiles inner loops with numba, an extra of bonuslab; without it, the same functions run as plain Python.

numba's functions are loaded from its cache without setting up its compiler, which costs 0.3 s of CPU time.
"""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import Any

import numpy as np

try:
    from numba import njit
    from numba.core.caching import Cache, _SourceFileBackedLocatorMixin
    from numba.core.runtime import rtsys
    from numba.extending import intrinsic
except ModuleNotFoundError:
    HAS_NUMBA = False

    def njit(function: Any = None, **_options: Any) -> Any:  # type: ignore[no-redef]
        """The function itself, with integers that overflow in silence as compiled ones do."""
        if function is None:
            return njit
        plain: Any = np.errstate(over="ignore")(function)
        plain.py_func = function
        return plain

    def intrinsic(function: Any) -> Any:  # type: ignore[no-redef]
        """Machine code has no plain version; `networks/compiled.py` does not ask for it."""
        return function
else:
    HAS_NUMBA = True

    def _load_overload(cache: Any, signature: Any, context: Any) -> Any:
        """numba's method without `context.refresh()`, which numba calls again before it compiles."""
        rtsys.initialize(context)  # the part of it that loaded functions need
        with cache._guard_against_spurious_io_errors():
            return cache._load_overload(signature, context)

    # For all functions of this process that numba caches.
    Cache.load_overload = _load_overload  # type: ignore[method-assign]

    PACKAGE = Path(__file__).parents[1]
    _stamp_of_file = _SourceFileBackedLocatorMixin.get_source_stamp

    def _source_stamp(locator: Any) -> Any:
        """For our functions, a hash of all modules in their folder.

        What a function calls is compiled into it, and numba would not see that it has changed in another file.
        """
        folder = Path(locator._py_file).parent
        return _hash_of(folder) if folder.is_relative_to(PACKAGE) else _stamp_of_file(locator)

    @functools.cache
    def _hash_of(folder: Path) -> bytes:
        return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(folder.glob("*.py")))).digest()

    _SourceFileBackedLocatorMixin.get_source_stamp = _source_stamp  # type: ignore[method-assign]

__all__ = ["HAS_NUMBA", "intrinsic", "njit"]

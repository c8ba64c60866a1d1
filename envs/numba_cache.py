"""Loads compiled functions from numba's cache without setting up its compiler, which costs 0.3 s of CPU time."""

from __future__ import annotations

from typing import Any

from numba.core.caching import Cache
from numba.core.runtime import rtsys


def _load_overload(cache: Any, signature: Any, context: Any) -> Any:
    """numba's method without `context.refresh()`, which numba calls again before it compiles."""
    rtsys.initialize(context)  # the part of it that loaded functions need
    with cache._guard_against_spurious_io_errors():
        return cache._load_overload(signature, context)


def load_without_compiler() -> None:
    """Affects all functions of this process that numba caches."""
    Cache.load_overload = _load_overload  # type: ignore[method-assign]

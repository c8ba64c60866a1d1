"""Loading large packages."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collector() -> Iterator[None]:
    """Import without the garbage collector, which would scan all modules again and again: 15 % of the time.

    For commands only: what exists at the end is never collected, as modules never are.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()

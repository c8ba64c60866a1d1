"""Giving memory back that the C library keeps.

Fragments hold different numbers of ended episodes and of distinct states, so arrays of ever new sizes come and go. What
is freed between those that stay cannot always be used again, and glibc keeps it: the memory in use stays the same while
the process grows. Now and then the free pages are returned to the system.
"""

from __future__ import annotations

import ctypes
import time

EVERY_SECONDS = 10.0
"""Returned pages are fetched again when they are needed, which costs a few milliseconds each time."""


class Heap:
    """The memory of this process."""

    def __init__(self) -> None:
        self._trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # only glibc has it
        self._last = time.monotonic()

    def give_back(self) -> None:
        """Return free memory to the system, at most every ten seconds."""
        now = time.monotonic()
        if self._trim is not None and now - self._last >= EVERY_SECONDS:
            self._trim(0)
            self._last = now


HEAP = Heap()
"""One for all parts that share the process."""

"""How this process keeps memory, and gives it back.

glibc asks the system for every array above 32 MB and returns it when it is freed, and the system clears each page anew:
filling 34 MB took 29 ms instead of 4 where it was measured. So large arrays are taken from the memory that is kept.

What is kept grows. Fragments hold different numbers of ended episodes and of distinct states, so arrays of ever new
sizes come and go, and what is freed between those that stay cannot always be used again: the memory in use stays the
same while the process grows. So now and then the free pages are returned to the system.
"""

from __future__ import annotations

import ctypes
import time
from typing import Any

EVERY_SECONDS = 10.0
"""Returned pages are fetched again when they are needed, which costs a few milliseconds each time."""
_MMAP_MAX, _TRIM_THRESHOLD = -4, -1  # names of mallopt's settings, as malloc.h numbers them
_NEVER = 2**31 - 1


class Heap:
    """The memory of this process."""

    def __init__(self) -> None:
        library = ctypes.CDLL(None)
        self._trim: Any = getattr(library, "malloc_trim", None)  # only glibc has it
        self._set: Any = getattr(library, "mallopt", None) if self._trim is not None else None
        self._last = time.monotonic()

    def keep(self) -> None:
        """Keep what is freed, also large arrays, until it is given back."""
        if self._set is not None:
            self._set(_MMAP_MAX, 0)
            self._set(_TRIM_THRESHOLD, _NEVER)

    def give_back(self) -> None:
        """Return free memory to the system, at most every ten seconds."""
        now = time.monotonic()
        if self._trim is not None and now - self._last >= EVERY_SECONDS:
            self._trim(0)
            self._last = now


HEAP = Heap()
"""One for all parts that share the process."""

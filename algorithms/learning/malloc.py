"""Tune glibc's malloc: reuse large blocks, and return free memory to the system now and then.

glibc maps every array above 32 MB anew and unmaps it when freed, and the kernel zeroes each page again: filling 34 MB
took 29 ms instead of 4 when measured. So large arrays come from the heap.

The heap then grows. Fragments differ in their numbers of finished episodes and distinct states, so array sizes vary and
the heap fragments: the process grows while the memory in use stays the same. So free pages are trimmed regularly.
"""

from __future__ import annotations

import ctypes
import time
from typing import Any

TRIM_INTERVAL_SECONDS = 10.0
"""Faulting trimmed pages back in costs a few milliseconds each time."""
_M_MMAP_MAX, _M_TRIM_THRESHOLD = -4, -1  # as in malloc.h
_NEVER = 2**31 - 1

_libc = ctypes.CDLL(None)
_malloc_trim: Any = getattr(_libc, "malloc_trim", None)  # glibc only
_mallopt: Any = getattr(_libc, "mallopt", None) if _malloc_trim is not None else None
_last_trim = time.monotonic()


def keep_large_blocks() -> None:
    """Keep freed memory, large arrays included, in the process until `trim`."""
    if _mallopt is not None:
        _mallopt(_M_MMAP_MAX, 0)
        _mallopt(_M_TRIM_THRESHOLD, _NEVER)


def trim() -> None:
    """Return free memory to the system, at most once every ten seconds."""
    global _last_trim
    now = time.monotonic()
    if _malloc_trim is not None and now - _last_trim >= TRIM_INTERVAL_SECONDS:
        _malloc_trim(0)
        _last_trim = now

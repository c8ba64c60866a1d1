"""Free memory is returned to the system, but not too often."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from bonuslab.algorithms.learning import malloc


def test_memory_is_trimmed_every_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    calls: list[int] = []
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(malloc, "_last_trim", 100.0)
    monkeypatch.setattr(malloc, "_malloc_trim", calls.append)
    for now[0] in (100.0, 105.0, 110.0, 111.0, 119.9, 120.0):
        malloc.trim()
    assert calls == [0, 0]  # at 110 and at 120
    monkeypatch.setattr(malloc, "_malloc_trim", None)  # another C library
    now[0] = 200.0
    malloc.trim()
    assert calls == [0, 0]


_FAULTS_OF_LARGE_ARRAYS = """
import resource
import numpy as np
from bonuslab.algorithms.learning import malloc
if {keep}:
    malloc.keep_large_blocks()
np.ones(40 << 20, np.uint8)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    np.ones(40 << 20, np.uint8)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(malloc._mallopt is None, reason="glibc only")
def test_large_arrays_reuse_memory() -> None:
    def faults(keep: bool) -> int:
        program = _FAULTS_OF_LARGE_ARRAYS.format(keep=keep)
        return int(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout)

    assert faults(keep=False) > 20 * 10  # even pages of 2 MB give 20 per array
    assert faults(keep=True) < 20

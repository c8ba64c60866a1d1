"""Free memory goes back to the system, and not too often."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from bonuslab.algorithms.learning import malloc as heap


def test_free_memory_is_returned_every_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    calls = []
    tested = heap.Heap()
    tested._trim = calls.append
    for now[0] in (100.0, 105.0, 110.0, 111.0, 119.9, 120.0):
        tested.give_back()
    assert calls == [0, 0]  # at 110 and at 120
    tested._trim = None  # another C library
    now[0] = 200.0
    tested.give_back()
    assert calls == [0, 0]


_FAULTS_OF_LARGE_ARRAYS = """
import resource
import numpy as np
from bonuslab.algorithms.learning.malloc import Heap
heap = Heap()
if {keep}:
    heap.keep()
np.ones(40 << 20, np.uint8)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    np.ones(40 << 20, np.uint8)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(heap.Heap()._set is None, reason="only glibc can be told")
def test_large_arrays_are_not_fetched_from_the_system_each_time() -> None:
    def faults(keep: bool) -> int:
        program = _FAULTS_OF_LARGE_ARRAYS.format(keep=keep)
        return int(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout)

    assert faults(keep=False) > 20 * 10  # even pages of 2 MB give 20 an array
    assert faults(keep=True) < 20

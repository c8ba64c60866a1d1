"""Free memory goes back to the system, and not too often."""

from __future__ import annotations

import time

import pytest

from bonuslab.algorithms import heap


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

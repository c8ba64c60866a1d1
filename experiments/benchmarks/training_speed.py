"""Steps learnt a second, of any algorithm of RLlib."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def trained_per_second(what: str, build: Callable[[], Any], seconds: float) -> float:
    """Environment steps learnt from a second of wall time, after a first iteration to warm up."""
    algorithm = build()
    try:
        algorithm.train()
        started, before = time.perf_counter(), _trained(algorithm)
        while time.perf_counter() - started < seconds:
            algorithm.train()
        speed = (_trained(algorithm) - before) / (time.perf_counter() - started)
    finally:
        algorithm.stop()
    print(f"  {what}: {speed:,.0f} steps/s", flush=True)
    return speed


def _trained(algorithm: Any) -> float:
    return float(algorithm.metrics.peek(("learners", "__all_modules__", "num_env_steps_trained_lifetime"), default=0))

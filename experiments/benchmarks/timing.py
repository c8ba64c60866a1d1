"""How benchmarks measure time: CPU time of one process, turns against a peer, and training throughput."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from threadpoolctl import threadpool_limits

WARM_UP_TURNS = 3

Call = Callable[[], object]
Operation = Callable[[], int]
"""Does some work and returns how many times it did what is measured."""


@contextmanager
def single_thread() -> Iterator[None]:
    """Run PyTorch and the thread pools of NumPy and SciPy on one core."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(threads)


def cpu_seconds(call: Call) -> float:
    """CPU time of this process during one call; other work on the machine does not count."""
    started = time.process_time()
    call()
    return time.process_time() - started


def best_cpu_seconds(call: Call, repeats: int) -> float:
    """CPU time of the fastest of several calls, after one to warm up."""
    call()
    return min(cpu_seconds(call) for _ in range(repeats))


def take_turns(
    ours: Operation,
    theirs: Operation,
    turns: int,
    before: tuple[Call, Call] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[float, float]:
    """Median seconds per operation on each side; `before` runs before each turn and is not timed.

    The sides alternate, so that other load on the machine slows both.
    """
    seconds: tuple[list[float], list[float]] = ([], [])
    for turn in range(WARM_UP_TURNS + turns):
        for side, operation in enumerate((ours, theirs)):
            if before is not None:
                before[side]()
            started = clock()
            count = operation()
            if turn >= WARM_UP_TURNS:
                seconds[side].append((clock() - started) / count)
    return statistics.median(seconds[0]), statistics.median(seconds[1])


def trained_per_second(what: str, build: Callable[[], Any], seconds: float) -> float:
    """Environment steps per second that an RLlib algorithm trains on, after a first iteration to warm up."""
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


def announce(what: str) -> None:
    """Say on stderr what is measured next."""
    print(f"measuring: {what}", file=sys.stderr, flush=True)


def _trained(algorithm: Any) -> float:
    return float(algorithm.metrics.peek(("learners", "__all_modules__", "num_env_steps_trained_lifetime"), default=0))

"""Graceful stop on Ctrl-C: the current update finishes first, so that a consistent state is saved."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """Context in which the first SIGINT or SIGTERM sets `signal`; a second one stops immediately."""

    def __init__(self, on_first: Callable[[], None]) -> None:
        self.signal: int | None = None
        self._on_first = on_first
        self._before: dict[int, Any] = {}

    def __enter__(self) -> StopRequest:
        if threading.current_thread() is threading.main_thread():  # Python allows no handlers in other threads
            for number in STOP_SIGNALS:
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            raise KeyboardInterrupt
        self.signal = number
        self._on_first()

"""The process behind `Follower`: requests and answers are JSON objects, one per line, on standard input and output.

The first line names the grid and the store. Then `deliver` and `stop`, each as {"do": …, "number": …}, are answered
with {"number": …, "problem": null or a sentence}. A change of the problem is reported unasked. When the input ends, the
driver has ended: the rest is delivered, then this process ends too.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from bonuslab.platform.run.folder import GridFolder
from bonuslab.platform.tracking.delivery import Busy, Delivery
from bonuslab.platform.tracking.store import store_of

NICENESS = 5
"""Training has priority. Not the maximum, which would delay the first metrics by minutes on a busy machine."""
SECONDS_BETWEEN_ROUNDS = 5.0
LONGEST_PAUSE_SECONDS = 60.0
"""While the store is unreachable."""
SHARE_OF_TIME = 0.1
"""At most this share of the time is spent delivering."""
SECONDS_FOR_ANOTHER_PROCESS = 20.0
"""How long the last round waits for a process that a killed driver left behind."""
SECONDS_BETWEEN_ATTEMPTS = 1.0
"""While another process is delivering."""


class FollowerProcess:
    """Delivers periodically, and whenever the driver asks."""

    def __init__(self, delivery: Delivery) -> None:
        self._delivery = delivery
        self._problem: str | None = None
        self._reported: str | None = ""  # nothing yet: a restarted process tells that all is well again
        self._pause = SECONDS_BETWEEN_ROUNDS

    def run(self, requests: queue.Queue[dict[str, Any]]) -> None:
        """Work until asked to stop."""
        due = 0.0
        while True:
            try:
                request = requests.get(timeout=max(0.0, due - time.monotonic()))
            except queue.Empty:
                request = {"do": "round"}
            began = time.monotonic()
            self._round(last_one=request["do"] == "stop")
            ended = time.monotonic()
            due = ended + self._next_pause(ended - began)
            if "number" in request or self._problem != self._reported:
                self._report(request.get("number", 0))
            if request["do"] == "stop":
                return

    def _round(self, last_one: bool) -> None:
        patience = time.monotonic() + (SECONDS_FOR_ANOTHER_PROCESS if last_one else 0.0)
        while True:
            try:
                self._problem = self._delivery.deliver(driven=not last_one)
                if not self._delivery.lost:
                    return
                self._report(0)
            except Busy as busy:
                self._problem = str(busy)
                if time.monotonic() > patience:
                    return
                time.sleep(SECONDS_BETWEEN_ATTEMPTS)

    def _next_pause(self, took: float) -> float:
        if self._problem is None:
            self._pause = SECONDS_BETWEEN_ROUNDS
            return max(self._pause, took / SHARE_OF_TIME)
        pause, self._pause = self._pause, min(2 * self._pause, LONGEST_PAUSE_SECONDS)
        return pause

    def _report(self, number: int) -> None:
        self._reported = self._problem
        with suppress(BrokenPipeError):
            print(json.dumps({"number": number, "problem": self._problem}), flush=True)


def listen(requests: queue.Queue[dict[str, Any]]) -> None:
    """Forward the driver's requests until it stops or ends."""
    for line in sys.stdin:
        request = json.loads(line)
        requests.put(request)
        if request["do"] == "stop":
            return  # a thread still reading when the process ends would make it crash
    requests.put({"do": "stop"})


def main() -> None:
    """Follow one grid until the driver stops or ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(NICENESS)
    first = json.loads(sys.stdin.readline())
    folder = GridFolder(Path(first["folder"]))
    delivery = Delivery(folder, store_of(folder, first["tracking_uri"]))
    requests: queue.Queue[dict[str, Any]] = queue.Queue()
    threading.Thread(target=listen, args=(requests,), daemon=True).start()
    FollowerProcess(delivery).run(requests)


if __name__ == "__main__":
    main()

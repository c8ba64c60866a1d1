"""Tracking beside a running grid: a separate process that follows the grid's files.

A process instead of a thread, by measurement: MLflow's import and a new database take six seconds of CPU time, with
pauses of half a second for every other thread, and each batch of a thousand metrics another 0.17 s. A low-priority
process costs the driver nothing, and a client that hangs can be killed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from bonuslab.platform.run.folder import GridFolder
from bonuslab.platform.tracking.cursor import undelivered
from bonuslab.platform.tracking.store import DATABASE, mlflow_environment, store_of

RESTART_SECONDS = (1.0, 60.0)
"""Pause before a process that died is started again; doubled up to the second number while it dies soon."""
_SECONDS_BETWEEN_ATTEMPTS = 0.1


class Follower:
    """Keeps an MLflow store up to date with a grid's files. No problem of MLflow is an error here."""

    def __init__(
        self,
        folder: GridFolder,
        tracking_uri: str | None = None,
        note: Callable[[str], None] = print,
    ) -> None:
        self.store = store_of(folder, tracking_uri)
        self.problem: str | None = None
        """What currently prevents delivery, in one sentence."""
        self._folder = folder
        self._note = note
        self._process: subprocess.Popen[str] | None = None
        self._ended: subprocess.Popen[str] | None = None
        self._asked = 0
        self._answered = 0
        self._change = threading.Condition()
        self._starting = threading.Lock()
        self._stopping = threading.Event()
        self._pause = RESTART_SECONDS[0]

    def start(self) -> None:
        """Start following; a process that dies is started again until `stop`."""
        with self._starting:
            self._stopping.clear()
            if not self._alive():
                self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __package__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=mlflow_environment(),
            # Ctrl-C is for the driver, which then asks for the last delivery.
            start_new_session=True,
        )
        assert self._process.stdin is not None
        os.set_blocking(self._process.stdin.fileno(), False)
        # Not on the command line, where every user of the machine could read a password in the URI.
        self._send(self._process, {"folder": str(self._folder.path.resolve()), "tracking_uri": self.store.uri})
        threading.Thread(target=self._listen, args=(self._process,), daemon=True).start()

    def deliver(self, timeout_seconds: float = 60.0) -> bool:
        """Deliver everything now; whether that succeeded in time."""
        if self._process is None:
            self.start()
            return self.stop(timeout_seconds)
        return self._ask("deliver", timeout_seconds)

    def stop(self, timeout_seconds: float = 60.0) -> bool:
        """Deliver the rest and end; whether that succeeded in time. Trials still running count as killed."""
        with self._starting:
            self._stopping.set()
        if self._process is None:
            return self.problem is None
        process = self._process
        delivered = self._ask("stop", timeout_seconds)
        if process.poll() is None and not delivered:
            process.kill()
        process.wait()
        self._process = None
        return delivered

    def summary(self) -> str:
        """Where the metrics are, and how to deliver missing ones."""
        missing = undelivered(self._folder, self.store)
        if self.problem is None and not missing:
            return f"every trial is in MLflow: {self.store.name}"
        command = f"bonuslab track {self._folder.path}"
        if self.store.key != DATABASE:
            command += f" --tracking-uri {self.store.name}"
        lack = f"{missing.trials} trials with {missing.rows:,} new rows are" if missing else "not everything is"
        reason = f" because {self.problem}" if self.problem else ""
        return f"{lack} {'not ' if missing else ''}in MLflow{reason}; nothing is lost; `{command}` delivers it"

    def _ask(self, what: str, timeout_seconds: float) -> bool:
        self._asked += 1
        asked, sent, process = self._asked, False, self._process
        assert process is not None
        deadline = time.monotonic() + timeout_seconds
        with self._change:
            # A broken pipe does not end the wait: the listener reads the last answer and the status of the process.
            while self._answered < asked and self._ended is not process:
                sent = sent or self._send(process, {"do": what, "number": asked})
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                self._change.wait(left if sent else min(left, _SECONDS_BETWEEN_ATTEMPTS))
            if self._answered >= asked:
                return self.problem is None
            if self.problem is None and self._ended is process:
                self.problem = self._ending(process)
            elif self.problem is None:
                self.problem = f"{self.store.name} did not finish within {timeout_seconds:.0f} s"
        return False

    def _alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @staticmethod
    def _send(process: subprocess.Popen[str], message: dict[str, object]) -> bool:
        """Never blocks: an unresponsive process must not delay the driver."""
        assert process.stdin is not None
        line = (json.dumps(message) + "\n").encode()
        try:
            return os.write(process.stdin.fileno(), line) == len(line)
        except OSError:
            return False

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        began = time.monotonic()
        for line in process.stdout:
            with suppress(ValueError), self._change:
                self._heard(json.loads(line))
        process.wait()
        asked_to = self._stopping.is_set() and process.returncode == 0
        with self._change:
            self._ended = process
            if not asked_to and self.problem is None:
                self.problem = self._ending(process)
                self._note(f"tracking: {self.problem} and is started again; training continues")
            self._change.notify_all()
        self._restart(process, time.monotonic() - began)

    def _restart(self, ended: subprocess.Popen[str], lived: float) -> None:
        """After a pause, unless `stop` or `start` was called in the meantime."""
        shortest, longest = RESTART_SECONDS
        pause = self._pause = shortest if lived > longest else self._pause
        self._pause = min(2 * pause, longest)
        if self._stopping.wait(pause):
            return
        with self._starting:
            if self._process is ended and not self._stopping.is_set():
                self._start()

    @staticmethod
    def _ending(process: subprocess.Popen[str]) -> str:
        return f"the process that tracks the grid ended with status {process.returncode}"

    def _heard(self, message: dict[str, object]) -> None:
        before, now = self.problem, message.get("problem")
        self.problem = None if now is None else str(now)
        if self.problem is not None and self.problem != before:
            self._note(f"tracking: {self.problem}; training continues, metrics will be delivered later")
        elif before is not None and self.problem is None:
            self._note(f"tracking: {self.store.name} works again; everything is delivered")
        self._answered = max(self._answered, int(str(message.get("number", 0))))
        self._change.notify_all()

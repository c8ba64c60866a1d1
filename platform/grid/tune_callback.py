"""Connects Ray Tune to a grid: records Tune's events and passes stop requests on to the trials."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ray.tune import Callback, Stopper
from ray.tune.stopper import NoopStopper

from bonuslab.platform.grid.recorder import Recorder
from bonuslab.platform.grid.trainable import REPORT
from bonuslab.platform.run.ray_session import ray_died
from bonuslab.platform.run.training import TrialReport

SECONDS_BETWEEN_WRITES = 0.5
SECONDS_BETWEEN_RAY_CHECKS = 2.0
PATIENCE_SECONDS = 60.0
"""How long the grid's folder may be unwritable before the grid stops."""


class RayLostError(BaseException):
    """Ray has died on this machine. Not an `Exception`, after which Tune would wait for Ray's processes forever."""


class Stopping:
    """Whether the grid should stop early, and why."""

    def __init__(self, stop_trials: Callable[[], None]) -> None:
        self.reason = ""
        self._stop_trials = stop_trials
        self._notified = False

    def request(self, reason: str) -> None:
        """Request a stop; signal-safe."""
        self.reason = self.reason or reason

    def notify_trials(self) -> None:
        """Forward a request to the trials, once."""
        if self.reason and not self._notified:
            self._notified = True
            self._stop_trials()


class GridCallback(Callback):
    """Records rows and states as they arrive."""

    def __init__(
        self,
        recorder: Recorder,
        stopping: Stopping,
        show: Callable[[], None],
        note: Callable[[str], None],
        ray_alive: Callable[[], bool],
    ) -> None:
        self._recorder = recorder
        self._stopping = stopping
        self._show = show
        self._note = note
        self._ray_alive = ray_alive
        self._written_at = self._checked_at = 0.0
        self._warned = False
        self.running: set[str] = set()

    def __reduce__(self) -> tuple[Any, ...]:
        # Tune saves its callbacks for a restart that we do ourselves; a notebook's output cannot be pickled.
        return Callback, ()

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """An attempt starts."""
        self.running.add(_id(trial))
        self._recorder[_id(trial)].start()

    def on_trial_result(
        self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **info: Any
    ) -> None:
        """A new row."""
        self._record(_id(trial), TrialReport.from_text(result[REPORT]))

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """An attempt has ended without an error; its last report says how."""
        self.running.discard(_id(trial))
        self._recorder[_id(trial)].interrupt()

    def on_trial_recover(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """An attempt has failed and will be retried."""
        self._failed(trial, again=True)

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """The last attempt of a round has failed."""
        self._failed(trial, again=False)

    def on_step_end(self, iteration: int, trials: list[Any], **info: Any) -> None:
        """Write, refresh the display, and check for reasons to stop."""
        now = time.monotonic()
        if now - self._written_at >= SECONDS_BETWEEN_WRITES:
            self._written_at = now
            self._write(now)
            self._show()
        if now - self._checked_at >= SECONDS_BETWEEN_RAY_CHECKS:
            self._checked_at = now
            if not self._ray_alive():
                raise RayLostError(ray_died())
        self._stopping.notify_trials()

    def _record(self, trial: str, report: TrialReport) -> None:
        self._recorder[trial].add(report)
        if report.resumed:
            self._note(f"{trial}: resumed {report.resumed}")
        for note in report.notes:
            self._note(f"{trial}: {note}")

    def _write(self, now: float) -> None:
        if self._recorder.write():
            self._warned = False
            return
        reason = str(self._recorder.problem)
        if not self._warned:
            self._warned = True
            self._note(
                f"cannot write: {reason}. Results are kept in memory; the grid stops in {PATIENCE_SECONDS:.0f} s "
                "unless this is fixed."
            )
        if self._recorder.failing_since is not None and now - self._recorder.failing_since >= PATIENCE_SECONDS:
            self._stopping.request(f"its folder cannot be written to: {reason}")

    def _failed(self, trial: Any, again: bool) -> None:
        self.running.discard(_id(trial))
        self._record_failure(_id(trial), trial, again)

    def _record_failure(self, name: str, trial: Any, again: bool) -> None:
        record = self._recorder[name]
        record.fail(_error_of(trial), again)
        self._note(f"{name} failed{', retrying' if again else ''}: {record.state.error}")


class GridStopper(Stopper):
    """Ends Tune's loop once no trial of a stopping grid is still saving its work."""

    def __init__(self, stopping: Stopping, callback: GridCallback) -> None:
        self._stopping = stopping
        self._callback = callback

    def __reduce__(self) -> tuple[Any, ...]:
        return NoopStopper, ()

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        """Never stop a single trial; trials end themselves."""
        return False

    def stop_all(self) -> bool:
        """Whether to end the loop."""
        return bool(self._stopping.reason) and not self._callback.running


def _id(trial: Any) -> str:
    return trial.config["trial"]


def _error_of(trial: Any) -> str:
    """The traceback of the last failure; Tune's file contains all of them."""
    path = trial.error_file
    text = Path(path).read_text() if path and Path(path).exists() else ""
    return text[text.rfind("Failure # ") :].partition("\n")[2] or text

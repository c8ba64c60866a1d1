"""Ray Tune's view of a grid turned into ours: its events become records, and a wish to stop becomes an order."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ray.tune import Callback, Stopper

from bonuslab.platform.grid.recorder import Recorder
from bonuslab.platform.grid.trainable import REPORT
from bonuslab.platform.run.training import TrialReport

SECONDS_BETWEEN_WRITES = 0.5
SECONDS_BETWEEN_RAY_CHECKS = 10.0
"""At whether Ray is still there: Tune would wait for it without an end."""
PATIENCE_SECONDS = 60.0
"""How long the grid's folder may refuse to be written to before the grid stops."""


class Stopping:
    """Whether the grid is to end before its time, and why."""

    def __init__(self, order: Callable[[], None]) -> None:
        self.reason = ""
        self._order = order
        self._ordered = False

    def ask(self, reason: str) -> None:
        """Wish it; safe in a signal handler."""
        self.reason = self.reason or reason

    def notify_trials(self) -> None:
        """Tell the trials, once."""
        if self.reason and not self._ordered:
            self._ordered = True
            self._order()


class GridCallback(Callback):
    """Writes rows and states as they come."""

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
        self._written_at = self._looked_at = 0.0
        self._warned = False
        self.running: set[str] = set()

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """An attempt begins."""
        self.running.add(_id(trial))
        self._recorder[_id(trial)].start()

    def on_trial_result(
        self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **info: Any
    ) -> None:
        """A row."""
        report = TrialReport.from_text(result[REPORT])
        self._recorder[_id(trial)].add(report)
        for note in report.notes:
            self._note(f"{_id(trial)}: {note}")

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """An attempt has ended well; its last report said how."""
        self.running.discard(_id(trial))
        self._recorder[_id(trial)].interrupt()

    def on_trial_recover(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """An attempt has failed and there will be another."""
        self._failed(trial, again=True)

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """The last attempt of this round has failed."""
        self._failed(trial, again=False)

    def on_step_end(self, iteration: int, trials: list[Any], **info: Any) -> None:
        """Between two events: write, show, and see whether it is time to stop."""
        now = time.monotonic()
        if now - self._written_at >= SECONDS_BETWEEN_WRITES:
            self._written_at = now
            self._write(now)
            self._show()
        if now - self._looked_at >= SECONDS_BETWEEN_RAY_CHECKS:
            self._looked_at = now
            if not self._ray_alive():
                self._stopping.ask("Ray has died on this machine (its logs are in /tmp/ray/session_latest/logs)")
                self.running.clear()
        self._stopping.notify_trials()

    def _write(self, now: float) -> None:
        if self._recorder.write():
            self._warned = False
            return
        reason = str(self._recorder.problem)
        if not self._warned:
            self._warned = True
            self._note(
                f"cannot write: {reason}. Results are kept in memory; the grid stops in {PATIENCE_SECONDS:.0f} s "
                "unless this is put right."
            )
        if self._recorder.failing_since is not None and now - self._recorder.failing_since >= PATIENCE_SECONDS:
            self._stopping.ask(f"its folder cannot be written to: {reason}")

    def _failed(self, trial: Any, again: bool) -> None:
        self.running.discard(_id(trial))
        record = self._recorder[_id(trial)]
        record.fail(_error_of(trial), again)
        self._note(f"{_id(trial)} failed{', trying again' if again else ''}: {record.state.error}")


class GridStopper(Stopper):
    """Ends Tune's loop once a stopping grid has no trial left that is saving its work."""

    def __init__(self, stopping: Stopping, callback: GridCallback) -> None:
        self._stopping = stopping
        self._callback = callback

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        """Trials end by themselves."""
        return False

    def stop_all(self) -> bool:
        """Whether the loop is to end."""
        return bool(self._stopping.reason) and not self._callback.running


def _id(trial: Any) -> str:
    return trial.config["trial"]


def _error_of(trial: Any) -> str:
    """The traceback of the last failure; Tune's file has all of them, one below the other."""
    path = trial.error_file
    text = Path(path).read_text() if path and Path(path).exists() else ""
    return text[text.rfind("Failure # ") :].partition("\n")[2] or text

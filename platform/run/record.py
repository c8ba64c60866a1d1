"""Writes a trial's reports to its folder; what cannot be written is kept in memory and retried."""

from __future__ import annotations

import math
import time
from collections import deque
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from bonuslab.platform.run.events import append_events, replace_events
from bonuslab.platform.run.folder import TrialFolder
from bonuslab.platform.run.redaction import redacted
from bonuslab.platform.run.results import representative
from bonuslab.platform.run.rows import STEPS, Row, RowWriter, read_rows
from bonuslab.platform.run.state import Status, set_aside, write_text
from bonuslab.platform.run.training import TrialReport

SECONDS_BETWEEN_STATES = 1.0
"""Per trial, unless its status changes: a large cluster reports more often than a disk can sync."""


class TrialRecord:
    """One trial: its state in memory, and what is not on disk yet."""

    def __init__(self, folder: TrialFolder, fewest: int = 0) -> None:
        """TensorBoard has results of training once `fewest` episodes have ended."""
        self._folder = folder
        self._fewest = fewest
        self.state = folder.state()
        self.last_row: Row = next(reversed(read_rows(folder.progress)), {})
        """The newest row, whether or not it is on disk yet."""
        self._rows: deque[Row] = deque()
        self._restored_rows: list[Row] | None = None
        self._keeps_old_rows = False
        self._error: str | None = None
        self._code = ""
        self._changed = False
        self._written_at = -math.inf

    def wait(self, total_env_steps: int, code: str = "") -> None:
        """Queue the trial, to be trained by `code` (`versions.this_code`)."""
        self._code = code
        self.state = replace(self.state, total_env_steps=total_env_steps)
        self._set_status("waiting")

    def start(self) -> None:
        """Begin an attempt."""
        self.state.attempts += 1
        self.state.code = self._code
        self._set_status("running")

    def add(self, report: TrialReport) -> None:
        """Record a report."""
        last: Row | None = None
        if report.restored_rows is not None:
            self._restored_rows = report.restored_rows
            if self.state.checkpoints and not report.restored_rows:
                self._keeps_old_rows, self.state.checkpoints = True, []
                report.notes.append(f"its checkpoints are gone; earlier rows stay beside {self._folder.progress}")
            self._rows.clear()
            self.state.resumed = report.resumed
            last = report.restored_rows[-1] if report.restored_rows else {STEPS: 0, "wall_seconds": 0.0}
        if report.row is not None:
            self._rows.append(report.row)
            last = report.row
        if last is not None:
            self.last_row = last
            self.state.env_steps = int(last[STEPS])
            self.state.wall_seconds = last["wall_seconds"]
        if report.checkpoints:
            self.state.checkpoints = report.checkpoints
        if report.done:
            self._set_status("finished" if report.finished else "waiting")
        if report.finished:
            self.state.error = ""
        self._changed = True

    def fail(self, text: str, again: bool) -> None:
        """Record a failed attempt; `again` if it will be retried."""
        text = redacted(text)
        self._error = text.rstrip() + "\n"
        self.state.error = last_line(text)
        self._set_status("waiting" if again else "failed")

    def interrupt(self) -> None:
        """Requeue a running trial whose driver stops."""
        if self.state.status == "running":
            self._set_status("waiting")

    def write(self) -> None:
        """Write what is not on disk yet, rows first so that the state is never ahead of them."""
        if self._keeps_old_rows:
            set_aside(self._folder.progress)
            self._keeps_old_rows = False
        if self._restored_rows is not None:
            _rewind(self._folder.progress, self._restored_rows)
            self._restored_rows = None
            with suppress(OSError):
                rows = read_rows(self._folder.progress)
                replace_events(self._folder.path, (representative(row, self._fewest) for row in rows))
        while self._rows:
            RowWriter(self._folder.progress).append(self._rows[0])
            with suppress(OSError):  # TensorBoard's copy
                append_events(self._folder.path, representative(self._rows[0], self._fewest))
            self._rows.popleft()
        if self._error is not None:
            write_text(self._folder.error_file, self._error)
            self._error = None
        now = time.monotonic()
        if self._changed and now - self._written_at >= SECONDS_BETWEEN_STATES:
            self.state.write(self._folder.state_file)
            self._changed, self._written_at = False, now

    def _set_status(self, status: Status) -> None:
        self.state.status = status
        self._changed, self._written_at = True, -math.inf


def _rewind(path: Path, rows: list[Row]) -> None:
    """Restore the table to the checkpoint's `rows`: drop later ones, rewrite lost ones."""
    if path.exists():
        RowWriter(path).cut_after(int(rows[-1][STEPS]) if rows else 0)
    if len(read_rows(path)) < len(rows):
        RowWriter(path).replace(rows)


def last_line(text: str) -> str:
    """The error message at the end of a traceback."""
    text = text.encode(errors="replace").decode().replace("\0", "")  # as the reader of states demands
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:500] if lines else "unknown error"

"""Writes what the trials report into the grid's folder; what cannot be written is kept in memory and tried again."""

from __future__ import annotations

import math
import os
import time
from collections import deque
from dataclasses import replace
from pathlib import Path

from bonuslab.platform.run.folder import GridFolder, TrialFolder
from bonuslab.platform.run.progress_table import STEPS, ProgressTable
from bonuslab.platform.run.redaction import redacted
from bonuslab.platform.run.state import Status, TrialState, write_text
from bonuslab.platform.run.training import Report, Row

SECONDS_BETWEEN_STATES = 1.0
"""Of one trial, while nothing but its numbers changes: a large cluster reports more often than a disk can sync."""


class Recorder:
    """All trials of a grid. Only the driver has one, under the grid's lock."""

    def __init__(self, folder: GridFolder) -> None:
        self._records = {trial.id: TrialRecord(trial) for trial in folder.trials()}
        self.problem: OSError | None = None
        """Why the last attempt to write failed."""
        self.failing_since: float | None = None
        """When writing began to fail, on the monotonic clock."""

    def __getitem__(self, trial: str) -> TrialRecord:
        return self._records[trial]

    def states(self) -> dict[str, TrialState]:
        """Where every trial stands."""
        return {trial: record.state for trial, record in self._records.items()}

    def write(self) -> bool:
        """Write everything that is not on disk yet; whether all of it is there now."""
        problem = None
        for record in self._records.values():
            try:
                record.write()
            except OSError as error:
                problem = error
        self.problem = problem
        if problem is None:
            self.failing_since = None
        elif self.failing_since is None:
            self.failing_since = time.monotonic()
        return problem is None


class TrialRecord:
    """One trial: its state in memory, and what of it is not on disk yet."""

    def __init__(self, folder: TrialFolder) -> None:
        self._folder = folder
        self.state = folder.state()
        self.last_row = _last_row(folder.progress)
        """The newest row, whether or not it is on disk yet."""
        self._rows: deque[Row] = deque()
        self._beginning: list[Row] | None = None
        self._error: str | None = None
        self._changed = False
        self._written_at = -math.inf

    def wait(self, total_env_steps: int) -> None:
        """The trial is to be run by this driver."""
        self.state = replace(self.state, total_env_steps=total_env_steps)
        self._enter("waiting")

    def start(self) -> None:
        """An attempt begins."""
        self.state.attempts += 1
        self._enter("running")

    def add(self, report: Report) -> None:
        """Take in what the trial reports."""
        last: Row | None = None
        if report.beginning is not None:
            self._beginning = report.beginning
            self._rows.clear()
            last = report.beginning[-1] if report.beginning else {STEPS: 0, "wall_seconds": 0.0}
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
            self._enter("finished" if report.finished else "waiting")
        if report.finished:
            self.state.error = ""
        self._changed = True

    def fail(self, text: str, again: bool) -> None:
        """An attempt has failed; `again` if there will be another one."""
        text = redacted(text)
        self._error = text.rstrip() + "\n"
        self.state.error = last_line(text)
        self._enter("waiting" if again else "failed")

    def interrupt(self) -> None:
        """The driver ends before the trial does."""
        if self.state.status == "running":
            self._enter("waiting")

    def write(self) -> None:
        """Write what is not on disk yet, rows first: the state never runs ahead of them."""
        if self._beginning is not None:
            _begin(self._folder.progress, self._beginning)
            self._beginning = None
        while self._rows:
            _append(self._folder.progress, self._rows[0])
            self._rows.popleft()
        if self._error is not None:
            write_text(self._folder.error_file, self._error)
            self._error = None
        now = time.monotonic()
        if self._changed and now - self._written_at >= SECONDS_BETWEEN_STATES:
            self.state.write(self._folder.state_file)
            self._changed, self._written_at = False, now

    def _enter(self, status: Status) -> None:
        self.state.status = status
        self._changed, self._written_at = True, -math.inf


def _begin(path: Path, rows: list[Row]) -> None:
    """Make the table what it was at the checkpoint: later rows are cut off, lost ones written again."""
    table = ProgressTable(path)
    if path.exists():
        table.cut_after(int(rows[-1][STEPS]) if rows else 0)
    if len(table.rows()) < len(rows):
        again = path.with_name(f".{path.name}.again")
        again.unlink(missing_ok=True)
        table = ProgressTable(again)
        for row in rows:
            table.append(row)
        os.replace(again, path)


def _append(path: Path, row: Row) -> None:
    """One row whole or not at all: a disk that fills up in the middle leaves no half line behind."""
    try:
        ProgressTable(path).append(row)
    except OSError:
        if path.exists():
            whole = path.read_bytes().rfind(b"\n") + 1
            os.truncate(path, whole)
        raise


def _last_row(path: Path) -> Row:
    rows = ProgressTable(path).rows()
    return {name: float(value) for name, value in rows[-1].items() if value} if rows else {}


def last_line(text: str) -> str:
    """What an error says, from its traceback."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:500] if lines else "no reason was given"

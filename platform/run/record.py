"""Writes what a trial reports into its folder; what cannot be written is kept in memory and tried again."""

from __future__ import annotations

import math
import os
import time
from collections import deque
from dataclasses import replace
from pathlib import Path

from bonuslab.platform.run.folder import TrialFolder
from bonuslab.platform.run.redaction import redacted
from bonuslab.platform.run.rows import STEPS, Row, RowWriter, read_rows
from bonuslab.platform.run.state import Status, write_text
from bonuslab.platform.run.training import Report

SECONDS_BETWEEN_STATES = 1.0
"""Of one trial, while nothing but its numbers changes: a large cluster reports more often than a disk can sync."""


class TrialRecord:
    """One trial: its state in memory, and what of it is not on disk yet."""

    def __init__(self, folder: TrialFolder) -> None:
        self._folder = folder
        self.state = folder.state()
        self.last_row: Row = next(reversed(read_rows(folder.progress)), {})
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
            RowWriter(self._folder.progress).append(self._rows[0])
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
    if path.exists():
        RowWriter(path).cut_after(int(rows[-1][STEPS]) if rows else 0)
    if len(read_rows(path)) < len(rows):
        again = path.with_name(f".{path.name}.again")
        again.unlink(missing_ok=True)
        table = RowWriter(again)
        for row in rows:
            table.append(row)
        os.replace(again, path)


def last_line(text: str) -> str:
    """What an error says, from its traceback."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:500] if lines else "no reason was given"

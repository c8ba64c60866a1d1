"""A grid as the board sees it: its trials, what changed since a client last asked, and the time left."""

from __future__ import annotations

import secrets
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bonuslab.algorithms.rllib.metrics import find
from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.board.comparison import Comparison
from bonuslab.platform.board.driver import is_locked
from bonuslab.platform.board.layout import layout_of, metric_of
from bonuslab.platform.board.trial_watch import UNREADABLE, Stamp, TrialWatch, stamp
from bonuslab.platform.run.folder import GRID_FILE, GridDescription, GridFolder, TrialDescription
from bonuslab.platform.run.redaction import redacted
from bonuslab.platform.run.remaining import seconds_left
from bonuslab.platform.run.results import fewest_episodes
from bonuslab.platform.run.state import STATUSES

COST_SHARE = 0.002
"""Share of one CPU that reading the files may take, whatever the number of clients and the size of the grid."""
REFRESH_SECONDS = (2.0, 10.0)
"""Shortest and longest time between two reads."""
QUIET_SECONDS = {"running": 300.0, "waiting": 30.0}
"""A grid with trials left, no driver on this machine and no change for this long was interrupted. Running trials may
have a driver on another machine and take long per row."""


class GridWatch:
    """Follows one grid's folder, even if a new grid replaces it."""

    def __init__(self, path: Path) -> None:
        self.folder = GridFolder(path)
        self._file = path / GRID_FILE
        self._lock = threading.Lock()
        self._seen: Stamp = None
        self._next_read_at = 0.0
        self._with_rows = False
        self.description: GridDescription | None = None
        self._forget()

    def _forget(self) -> None:
        # A client of another grid or board sends a version that begins with another word.
        self._generation = secrets.token_hex(4)
        self._version = 0
        self._trials: dict[str, TrialWatch] = {}
        self._cells: dict[str, tuple[int, dict[str, Any]]] = {}
        self._totals: dict[str, Any] = {}
        self._comparison = Comparison()

    def changes(self, since: str = "") -> dict[str, Any]:
        """The grid's summary and all cells that changed after the version `since`; also the layout if it is new."""
        with self._lock:
            description = self._refresh(rows=True)
            generation, _, number = since.partition(".")
            known = generation == self._generation and number.isdecimal() and len(number) < 20
            after = int(number) if known else 0
            answer = {
                "wait": max(0.0, self._next_read_at - time.monotonic()),
                "version": f"{self._generation}.{self._version}",
                "cells": [cell for version, cell in self._cells.values() if version > after],
                "summary": self._summary(),
            }
            return answer if known else answer | {"layout": _front(description) | layout_of(description)}

    def summary(self) -> dict[str, Any]:
        """What the list of grids shows of it."""
        with self._lock:
            return _front(self._refresh(rows=False)) | {"summary": self._summary()}

    def trial(self, identifier: str) -> tuple[TrialWatch, TrialDescription] | None:
        """One of the trials that grid.json names."""
        with self._lock:
            description = self._refresh(rows=True)
            found = next((trial for trial in description.trials if trial.id == identifier), None)
            if found is None or self._trials[identifier].is_linked():
                return None
            return self._trials[identifier], found

    def comparison(self) -> tuple[Comparison, GridDescription]:
        """The curves of all trials, read as far as time allows."""
        with self._lock:
            description = self._refresh(rows=True)
            comparison, trials = self._comparison, dict(self._trials)
        comparison.refresh(trials, {trial.id: fewest_episodes(trial.hyperparameters) for trial in description.trials})
        return comparison, description

    def _refresh(self, rows: bool) -> GridDescription:
        """Read the files, unless that was done a moment ago."""
        if time.monotonic() < self._next_read_at and self.description and self._with_rows >= rows:
            return self.description
        began = time.thread_time()
        description = self._read_description()
        self._version += 1
        for identifier, trial in self._trials.items():
            if trial.refresh(rows) or identifier not in self._cells:
                self._cells[identifier] = (self._version, trial.cell())
        self._totals = self._summed(description)
        self._with_rows = rows
        shortest, longest = REFRESH_SECONDS
        pause = min(longest, max(shortest, (time.thread_time() - began) / COST_SHARE))
        self._next_read_at = time.monotonic() + pause
        return description

    def _read_description(self) -> GridDescription:
        now = stamp(self._file)
        if now is None:
            self._seen, self.description = None, None
            raise InvalidInput(f"the grid {self.folder.path.name} no longer exists")
        if now != self._seen or self.description is None:
            self.description = self.folder.description()
            self._seen = now
            self._forget()
            metric = metric_of(self.description)
            for trial in self.description.trials:
                fewest = fewest_episodes(trial.hyperparameters)
                self._trials[trial.id] = TrialWatch(self.folder.trial(trial.id), metric, fewest)
        return self.description

    def _summed(self, description: GridDescription) -> dict[str, Any]:
        """All trials together."""
        watches = list(self._trials.values())
        bonuses = {trial.id: str(trial.labels.get("bonus", "")) for trial in description.trials}
        by_status = {
            status: [watch for watch in watches if watch.status == status] for status in (*STATUSES, UNREADABLE)
        }
        readable = [(bonuses[name], trial.state) for name, trial in self._trials.items() if not trial.problem]
        return {
            "trials": len(watches),
            "counts": Counter(trial.status for trial in watches),
            "share": _share_done(watches, watches),
            "shares": {status: _share_done(watches, members) for status, members in by_status.items()},
            "steps": sum(trial.state.env_steps for trial in watches),
            "speed": sum(trial.speed or 0.0 for trial in watches if trial.status == "running"),
            "left": seconds_left(readable),
            "updated": max((watch.state.updated for watch in watches), default=0.0),
        }

    def _summary(self) -> dict[str, Any]:
        """The totals, and whether the grid was interrupted."""
        quiet = max(0.0, time.time() - self._totals["updated"])
        left = next((status for status in QUIET_SECONDS if status in self._totals["counts"]), None)
        interrupted = left is not None and quiet > QUIET_SECONDS[left] and is_locked(self.folder.path) is False
        stopped = {"speed": 0.0, "left": None} if interrupted else {}
        return self._totals | stopped | {"quiet": quiet, "interrupted": interrupted}


def _share_done(watches: Sequence[TrialWatch], members: Sequence[TrialWatch]) -> float:
    """The share of all steps that these trials have done; one that has not begun needs as many as the others."""
    longest = max((watch.state.total_env_steps for watch in watches), default=0) or 1
    steps = [watch.state.total_env_steps or longest for watch in watches]
    return sum(watch.state.fraction_done * (watch.state.total_env_steps or longest) for watch in members) / sum(
        steps or [1]
    )


def _front(description: GridDescription) -> dict[str, Any]:
    """What a grid is, without anything private."""
    last = description.commands[-1] if description.commands else {}
    return {
        "name": description.name,
        "experiment": description.experiment,
        "scale": description.scale,
        "metric": metric_of(description),
        "metricLabel": find(metric_of(description)).label,
        # What resumes the grid: its last command, without the option to start anew.
        "command": redacted(str(last.get("command", ""))).replace(" --fresh", ""),
    }

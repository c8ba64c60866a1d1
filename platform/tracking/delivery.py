"""From the files of a grid to MLflow: every row of a trial once and no other, despite interruptions and rewinds."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bonuslab.platform.run.folder import TRIALS, GridFolder, TrialFolder
from bonuslab.platform.run.state import TrialState
from bonuslab.platform.tracking import run_description as words
from bonuslab.platform.tracking.artifacts import Artifact, grid_artifacts, trial_artifacts
from bonuslab.platform.tracking.cursor import Cursor, write_cursor
from bonuslab.platform.tracking.identity import GRID_TRACKING
from bonuslab.platform.tracking.points import requests_of
from bonuslab.platform.tracking.problems import OtherContents, is_about_damage, is_about_one_run, sentence
from bonuslab.platform.tracking.store import Store, database_file, set_damaged_aside
from bonuslab.platform.tracking.tail import Delivered, Tail, whole_table

if TYPE_CHECKING:
    from bonuslab.platform.tracking.connection import Connection

ENDED = ("FINISHED", "FAILED", "KILLED")
"""MLflow's statuses of a trial whose rows are complete for now: they are read back and compared."""
LOCK_SECONDS = 2.0
OnTrial = Callable[[int, int], None]
"""Called with the number of trials done and their total."""


class Busy(RuntimeError):  # noqa: N818 (it reads as what it is)
    """Another process is delivering this grid."""


class Delivery:
    """Brings one store up to date with one grid's files, as often as called.

    The store decides what it already has: on every new connection the runs are found by their tags, which also say
    which rows they have. tracking.json is a copy for readers without a connection. A trial that was rewound to before
    its delivered rows gets a new run (`Connection.start_over`).
    """

    def __init__(self, folder: GridFolder, store: Store) -> None:
        self._folder = folder
        self._store = store
        self.lost = False
        """Whether the last call found the database deleted, replaced or damaged; the next one fills a new one."""
        self._connection: Connection | None = None
        self._database: tuple[int, int] | None = None
        self._databases = 0
        self._tails: dict[str, Tail] = {}
        self._done: dict[str, object] = {}
        self._artifact_problem: str | None = None
        self._lock: int | None = None

    def deliver(self, driven: bool, on_trial: OnTrial | None = None) -> str | None:
        """Deliver everything; the first problem in one sentence, or None. `driven`: some process runs the grid."""
        self._artifact_problem = None
        self.lost = self._is_lost()
        if self.lost:
            return self._reconnect_later()
        try:
            self._take_lock()
            if self._connection is None:
                self._connection = self._connect()
                self._database = self._present_database()
            trials = self._folder.trials()
            states = [trial.state() for trial in trials]
            problem = None
            for number, (trial, state) in enumerate(zip(trials, states, strict=True), 1):
                problem = self._attempt(trial, state, driven) or problem
                if on_trial is not None:
                    on_trial(number, len(trials))
            self._deliver_grid(self._connection, states, driven)
            problem = problem or self._artifact_problem
        except Busy:
            raise
        except Exception as error:  # no error of MLflow or its database may reach the training
            problem = sentence(error, self._store)
            if is_about_damage(error) and (aside := set_damaged_aside(self._store)):
                self.lost = True
                return self._reconnect_later(f"was damaged and is now {aside}")
            # SQLite calls a deleted database "read-only".
            self.lost = self._is_lost()
        if self.lost:
            return self._reconnect_later()
        if problem is not None:
            self._forget()
        return problem

    def close(self) -> None:
        """Let another process deliver."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _take_lock(self) -> None:
        """Two deliveries of one grid would miss each other's rows. Locking the folder needs no extra file."""
        if self._lock is not None:
            return
        descriptor = os.open(self._folder.path / TRIALS, os.O_RDONLY)
        # A child that this process is just starting shares a lock that was let go, until it runs its program.
        deadline = time.monotonic() + LOCK_SECONDS
        while self._lock is None:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._lock = descriptor
            except BlockingIOError as error:
                if time.monotonic() > deadline:
                    os.close(descriptor)
                    raise Busy(f"another process is delivering the grid in {self._folder.path}") from error
                time.sleep(0.05)

    def _connect(self) -> Connection:
        from bonuslab.platform.tracking.connection import Connection  # MLflow takes seconds to import

        # MLflow keeps a connection per address for the life of the process, also to a file that was deleted.
        address = self._store.uri.replace(":///", f":////{'./' * self._databases}", 1) if self._databases else None
        return Connection(self._folder, replace(self._store, uri=address or self._store.uri))

    def _present_database(self) -> tuple[int, int] | None:
        """What tells one database file from another at the same place; None if there is none or it is elsewhere."""
        path = database_file(self._store.uri)
        try:
            about = path.stat() if path is not None else None
        except OSError:
            return None
        return None if about is None else (about.st_dev, about.st_ino)

    def _is_lost(self) -> bool:
        return self._database is not None and self._present_database() != self._database

    def _reconnect_later(self, why: str = "was deleted or replaced") -> str:
        self._forget()
        self._database = None
        self._databases += 1
        return f"the MLflow store {self._store.name} {why}; a new one gets everything again"

    def _forget(self) -> None:
        """After a problem nothing is assumed: the next round asks the store what it has."""
        self._connection = None
        self._done.clear()
        for tail in self._tails.values():
            tail.rewind()

    def _attempt(self, trial: TrialFolder, state: TrialState, driven: bool) -> str | None:
        """Deliver one trial if it has changed; an error that concerns it alone is returned."""
        files = (trial.state_file, trial.progress, trial.error_file, trial.video, trial.summary)
        seen = (driven, *(_changed(path) for path in files))
        if self._done.get(trial.id) == seen:
            return None
        try:
            self._deliver_trial(trial, state, driven)
        except Exception as error:
            if not is_about_one_run(error):
                raise
            return f"{sentence(error, self._store)} (trial {trial.id})"
        self._done[trial.id] = seen
        return None

    def _deliver_trial(self, trial: TrialFolder, state: TrialState, driven: bool) -> None:
        """Run, parameters, rows and artifacts; the status last, once everything else is delivered."""
        assert self._connection is not None
        connection = self._connection
        mlflow_status = words.run_status(state, driven)
        if mlflow_status is None:
            return
        cursor = self._deliver_rows(connection, trial, state)
        if mlflow_status in ENDED and cursor.checked != cursor.delivered:
            cursor = self._check(connection, cursor, trial, state)
        if not cursor.described:
            connection.log_parameters(cursor, trial)
            cursor.described = True
        self._put_new(connection, cursor, trial_artifacts(trial, state))
        connection.set_status(cursor, mlflow_status, state.status, state.updated)
        self._remember(trial.tracking_file, cursor)

    def _deliver_rows(self, connection: Connection, trial: TrialFolder, state: TrialState) -> Cursor:
        """Send the rows that the trial's run lacks; to a new run if it has rows that are no longer the trial's."""
        tail = self._tails.setdefault(trial.id, Tail(trial.progress))
        cursor = connection.trial_run(trial, state)
        if not cursor.certain:
            _, foreign = connection.difference(cursor, whole_table(trial.progress))
            cursor.certain, cursor.delivered = True, ""  # MLflow ignores points that it already has
            tail.rewind()
            if foreign:
                cursor = connection.start_over(trial, state)
        waiting = tail.waiting(cursor.delivered)
        if waiting is None:
            cursor = connection.start_over(trial, state)
            waiting = tail.waiting(cursor.delivered) or []
        for request in list(requests_of(waiting)):
            connection.log_rows(cursor, request, tail.sent(len(request)))
        return cursor

    def _check(self, connection: Connection, cursor: Cursor, trial: TrialFolder, state: TrialState) -> Cursor:
        """Read a run back and compare it with the trial's file; correct it once."""
        for corrected in (False, True):
            rows = whole_table(trial.progress)
            missing, foreign = connection.difference(cursor, rows)
            if not missing and not foreign and cursor.delivered == Delivered(rows).text:
                cursor.checked = cursor.delivered
                return cursor
            if corrected:
                break
            if foreign:
                cursor = connection.start_over(trial, state)
            cursor.delivered = ""
            self._tails[trial.id].rewind()
            cursor = self._deliver_rows(connection, trial, state)
        raise OtherContents(f"it holds other values than were sent ({len(missing)} lacking, {len(foreign)} unknown)")

    def _deliver_grid(self, connection: Connection, states: list[TrialState], driven: bool) -> None:
        cursor = connection.grid_run
        self._put_new(connection, cursor, grid_artifacts(self._folder))
        mlflow_status = words.grid_status(states, driven)
        connection.set_status(cursor, mlflow_status, "", max((state.updated for state in states), default=time.time()))
        self._remember(self._folder.path / GRID_TRACKING, cursor)

    def _remember(self, path: Path, cursor: Cursor) -> None:
        """A full disk does not stop delivery: the store itself knows what it has."""
        with suppress(OSError):
            write_cursor(path, self._store.key, cursor)

    def _put_new(self, connection: Connection, cursor: Cursor, artifacts: Iterable[Artifact]) -> None:
        """Metrics are delivered even if files cannot be (their storage may need a package or an account)."""
        for artifact in artifacts:
            if self._artifact_problem is None and cursor.artifacts.get(artifact.name) != artifact.signature:
                try:
                    connection.put(cursor, artifact)
                except Exception as error:
                    self._artifact_problem = f"{sentence(error, self._store)} (files of runs)"
                    return
                cursor.artifacts[artifact.name] = artifact.signature


def _changed(path: Path) -> tuple[int, int] | None:
    try:
        about = path.stat()
    except FileNotFoundError:
        return None
    return about.st_mtime_ns, about.st_size

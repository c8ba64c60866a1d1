"""From the files of a grid to MLflow: every row once, despite interruptions."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bonuslab.platform.run.folder import TRIALS, GridFolder, TrialFolder
from bonuslab.platform.run.rows import STEPS, Row, RowReader
from bonuslab.platform.run.state import TrialState
from bonuslab.platform.tracking import run_description as words
from bonuslab.platform.tracking.artifacts import Artifact, grid_artifacts, trial_artifacts
from bonuslab.platform.tracking.cursor import Cursor, write_cursor
from bonuslab.platform.tracking.identity import GRID_TRACKING
from bonuslab.platform.tracking.problems import is_about_one_run, sentence
from bonuslab.platform.tracking.store import Store

if TYPE_CHECKING:
    from mlflow.entities import Metric

    from bonuslab.platform.tracking.connection import Connection

METRICS_PER_REQUEST = 1_000
"""MLflow's limit."""
OnTrial = Callable[[int, int], None]
"""Called with the number of trials done and their total."""


class Busy(RuntimeError):  # noqa: N818 (it reads as what it is)
    """Another process is delivering this grid."""


class Delivery:
    """Brings one store up to date with one grid's files, as often as called.

    The store decides what it already has: on every new connection the runs are found by their tags and queried for
    their last step. tracking.json is a copy for readers without a connection.
    """

    def __init__(self, folder: GridFolder, store: Store) -> None:
        self._folder = folder
        self._store = store
        self._connection: Connection | None = None
        self._readers: dict[str, RowReader] = {}
        self._done: dict[str, object] = {}
        self._artifact_problem: str | None = None
        self._lock: int | None = None

    def deliver(self, driven: bool, on_trial: OnTrial | None = None) -> str | None:
        """Deliver everything; the first problem in one sentence, or None. `driven`: some process runs the grid."""
        self._artifact_problem = None
        try:
            self._take_lock()
            if self._connection is None:
                self._connection = self._connect()
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
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise Busy(f"another process is delivering the grid in {self._folder.path}") from error
        self._lock = descriptor

    def _connect(self) -> Connection:
        from bonuslab.platform.tracking.connection import Connection  # MLflow takes seconds to import

        return Connection(self._folder, self._store)

    def _forget(self) -> None:
        """After a problem nothing is assumed: the next round asks the store what it has."""
        self._connection = None
        self._done.clear()
        for reader in self._readers.values():
            reader.rewind()

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
        cursor = connection.trial_run(trial, state)
        if not cursor.described:
            connection.log_parameters(cursor, trial)
            cursor.described = True
        rows = self._readers.setdefault(trial.id, RowReader(trial.progress)).new_rows()
        new = [row for row in rows if row.get(STEPS, 0) > cursor.last_step]
        started = connection.started_ms(cursor)
        for request in _requests(new):
            connection.log_metrics(cursor, _metrics(request, started))
            cursor.last_step = int(request[-1][STEPS])
        self._put_new(connection, cursor, trial_artifacts(trial, state))
        connection.set_status(cursor, mlflow_status, state.status, state.updated)
        self._remember(trial.tracking_file, cursor)

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


def _requests(rows: list[Row]) -> Iterator[list[Row]]:
    """Complete rows, as many as fit into one request."""
    request: list[Row] = []
    size = 0
    for row in rows:
        if request and size + len(row) > METRICS_PER_REQUEST:
            yield request
            request, size = [], 0
        request.append(row)
        size += len(row)
    if request:
        yield request


def _metrics(rows: list[Row], started_ms: int) -> list[Metric]:
    """The same rows give the same metrics, times included, so that MLflow recognises duplicates."""
    from mlflow.entities import Metric

    metrics = []
    for row in rows:
        step, at = int(row[STEPS]), started_ms + round(1_000 * row.get("wall_seconds", 0.0))
        # The steps come last: a store that has them has the whole row.
        names = [*(name for name in row if name != STEPS), STEPS]
        metrics += [Metric(words.metric_name(name), row[name], at, step) for name in names]
    return metrics


def _changed(path: Path) -> tuple[int, int] | None:
    try:
        about = path.stat()
    except FileNotFoundError:
        return None
    return about.st_mtime_ns, about.st_size

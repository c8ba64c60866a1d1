"""MLflow's client for one store: the grid's experiment and runs, found by their tags or created."""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice

from bonuslab.platform.run.folder import GridFolder, TrialFolder
from bonuslab.platform.run.results import fewest_episodes
from bonuslab.platform.run.rows import STEPS, Row
from bonuslab.platform.run.state import TrialState
from bonuslab.platform.tracking import run_description as words
from bonuslab.platform.tracking.artifacts import PROXY, Artifact, ArtifactStore
from bonuslab.platform.tracking.comparison import save_comparison
from bonuslab.platform.tracking.cursor import Cursor, read_cursor
from bonuslab.platform.tracking.identity import GRID_TRACKING, grid_identity
from bonuslab.platform.tracking.points import Point, metrics_of, points_of
from bonuslab.platform.tracking.store import Store, database_file, mlflow_environment
from bonuslab.platform.tracking.tail import step_of

os.environ.update(mlflow_environment())  # read while MLflow is imported

from mlflow import MlflowClient
from mlflow.entities import Experiment, Param, Run, RunInfo, RunTag, ViewType
from mlflow.exceptions import MlflowException

PARAMETERS_PER_REQUEST = 100
RUNS_PER_PAGE = 500
_LOCK_SECONDS = 5.0
_TERMINAL = ("FINISHED", "FAILED", "KILLED")

for _name in ("mlflow", "alembic", "sqlalchemy", "urllib3"):
    # Each problem is reported once, in our words, without the addresses that these print.
    logging.getLogger(_name).setLevel(logging.CRITICAL)


class Connection:
    """What a store has of a grid, queried once; every method sends immediately."""

    def __init__(self, folder: GridFolder, store: Store) -> None:
        self._folder = folder
        self._store = store
        _require_writable(store)
        self._client = MlflowClient(store.uri)
        self._artifacts = ArtifactStore(store, self._client)
        self._description = folder.description()
        self._grid_id = grid_identity(self._description)
        self._experiment = self._find_experiment()
        self._runs: dict[str, Run] = {}
        """By the identity of the trial; the grid's own run under an empty one."""
        self._infos: dict[str, RunInfo] = {}
        self._cursors: dict[str, Cursor] = {}
        self._fewest: dict[str, int] = {}
        for run in self._search():
            self._keep(run.data.tags.get(words.TRIAL_ID, ""), run)
        self.grid_run = self._find_grid_run()
        save_comparison(self._client, self._experiment, self._description, self._grid_id)

    def trial_run(self, trial: TrialFolder, state: TrialState) -> Cursor:
        """What the store has of a trial; its run is created if there is none."""
        if trial.id not in self._cursors:
            identity = self._description.generation_id(trial.id)
            if identity not in self._runs:
                about = trial.description()
                tags = words.trial_tags(self._description, about, self._grid_id, identity, self.grid_run.run_id)
                tags[words.ATTEMPT] = str(1 + sum(1 for _ in self._search(identity, withdrawn=True)))
                began = (state.updated or time.time()) - state.wall_seconds
                self._keep(identity, self._create(words.trial_name(about), tags, began))
            known = read_cursor(trial.tracking_file, self._store.key)
            cursor = self._cursors[trial.id] = _cursor_of(self._runs[identity], known)
            self._fewest[cursor.run_id] = fewest_episodes(trial.description().hyperparameters)
        return self._cursors[trial.id]

    def start_over(self, trial: TrialFolder, state: TrialState) -> Cursor:
        """A new run for a trial whose delivered rows are no longer its own.

        MLflow cannot remove points, so the old run is marked and deleted: charts and searches leave it out, and MLflow
        keeps it until `mlflow gc`. It goes first, so that two runs of a trial are never active.
        """
        old = self._cursors.pop(trial.id)
        self._client.set_tag(old.run_id, words.WITHDRAWN, "the trial was rewound; a later run has its rows")
        self._client.set_terminated(old.run_id, "KILLED")
        self._client.delete_run(old.run_id)
        self._runs.pop(self._description.generation_id(trial.id))
        return self.trial_run(trial, state)

    def log_parameters(self, cursor: Cursor, trial: TrialFolder) -> None:
        """Log a trial's configuration, which cannot be changed later."""
        parameters = words.parameters(trial.description())
        items = iter([Param(name, value) for name, value in parameters.items()])
        while some := list(islice(items, PARAMETERS_PER_REQUEST)):
            self._client.log_batch(cursor.run_id, params=some)

    def log_rows(self, cursor: Cursor, rows: Sequence[Row], delivered: str) -> None:
        """Send rows in one request, and which rows the run has then; times are relative to the start of the run."""
        points = metrics_of(rows, *self._frame(cursor))
        self._client.log_batch(cursor.run_id, points, tags=[RunTag(words.ROWS, delivered)])
        cursor.delivered = delivered

    def difference(self, cursor: Cursor, rows: Sequence[Row]) -> tuple[set[Point], set[Point]]:
        """The points of `rows` that the run lacks, and its points that are of no row, read back from the store."""
        wanted = set(points_of(rows, *self._frame(cursor)))
        held = {
            (name, point.step, point.timestamp, point.value)
            for name in self._client.get_run(cursor.run_id).data.metrics
            for point in self._client.get_metric_history(cursor.run_id, name)
        }
        return wanted - held, held - wanted

    def put(self, cursor: Cursor, artifact: Artifact) -> None:
        """Add or replace an artifact."""
        self._artifacts.put(cursor.run_id, self._infos[cursor.run_id].artifact_uri, artifact)

    def set_status(self, cursor: Cursor, mlflow_status: str, status: str, changed_at: float) -> None:
        """Update the status of a run if the store has another."""
        if status and status != cursor.status:
            self._client.set_tag(cursor.run_id, words.STATUS, status)
            cursor.status = status
        if mlflow_status == cursor.mlflow_status:
            return
        if mlflow_status in _TERMINAL:
            self._client.set_terminated(cursor.run_id, mlflow_status, round(1_000 * (changed_at or time.time())))
        else:
            self._client.update_run(cursor.run_id, mlflow_status)
        cursor.mlflow_status = mlflow_status

    def _find_experiment(self) -> Experiment:
        name = words.experiment_name(self._description)
        found = self._client.get_experiment_by_name(name)
        if found is not None:
            return found
        location = None if self._store.is_server else f"{PROXY}{self._description.experiment}"
        try:
            return self._client.get_experiment(self._client.create_experiment(name, location))
        except MlflowException as error:
            # Another grid may have created it in between.
            found = self._client.get_experiment_by_name(name)
            if found is None:
                raise error
            return found

    def _search(self, trial: str | None = None, withdrawn: bool = False) -> Iterator[Run]:
        """The runs of this grid or of one trial, oldest first: the active ones, or those withdrawn."""
        wanted, token = f"tags.`{words.GRID_ID}` = '{self._grid_id}'", None
        if trial is not None:
            wanted += f" and tags.`{words.TRIAL_ID}` = '{trial}'"
        while True:
            page = self._client.search_runs(
                [self._experiment.experiment_id],
                wanted,
                ViewType.DELETED_ONLY if withdrawn else ViewType.ACTIVE_ONLY,
                max_results=RUNS_PER_PAGE,
                order_by=["attributes.start_time ASC"],
                page_token=token,
            )
            yield from page
            token = page.token
            if not token:
                return

    def _find_grid_run(self) -> Cursor:
        if "" not in self._runs:
            tags = words.grid_tags(self._description, self._grid_id)
            self._keep("", self._create(self._description.name, tags, time.time()))
        return _cursor_of(self._runs[""], read_cursor(self._folder.path / GRID_TRACKING, self._store.key))

    def _frame(self, cursor: Cursor) -> tuple[int, int]:
        """When the run started, in milliseconds, and how many episodes its first results of training need."""
        return self._infos[cursor.run_id].start_time, self._fewest[cursor.run_id]

    def _keep(self, identity: str, run: Run) -> None:
        self._runs.setdefault(identity, run)
        self._infos[run.info.run_id] = run.info

    def _create(self, name: str, tags: dict[str, str], began: float) -> Run:
        return self._client.create_run(
            self._experiment.experiment_id, start_time=round(1_000 * began), tags=tags, run_name=name
        )


def _require_writable(store: Store) -> None:
    """Fail at once if a database file cannot be written; MLflow would retry for minutes."""
    path = database_file(store.uri)
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, timeout=_LOCK_SECONDS)) as database:
        database.execute("BEGIN IMMEDIATE")


def _cursor_of(run: Run, known: Cursor) -> Cursor:
    """The cursor in tracking.json if it is of this run, corrected by the store."""
    cursor = known if known.run_id == run.info.run_id else Cursor(run_id=run.info.run_id)
    cursor.experiment_id = run.info.experiment_id
    cursor.delivered = run.data.tags.get(words.ROWS, "")
    # Not if a process was killed between sending rows and marking them as delivered.
    cursor.certain = step_of(cursor.delivered) == int(run.data.metrics.get(STEPS, 0))
    cursor.mlflow_status = run.info.status
    cursor.status = run.data.tags.get(words.STATUS, "")
    cursor.described = bool(run.data.params)
    return cursor

"""Which MLflow store a grid uses: by default one in the grid's folder, or any tracking URI."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from urllib.parse import urlsplit

from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.platform.run.folder import GridFolder
from bonuslab.platform.run.redaction import is_redacted, redacted
from bonuslab.platform.run.state import set_aside

DATABASE = "mlflow.db"
ARTIFACTS = "mlartifacts"
"""Where `mlflow ui` looks for artifacts by default if it is started beside the database."""
OPTION = "tracking_uri"
"""In `GridDescription.options`: the redacted URI, unless it is the grid's own store."""

_SERVERS = ("http", "https", "databricks")
_DATABASES = ("sqlite", "postgresql", "mysql", "mssql")


@dataclass(frozen=True)
class Store:
    """A place MLflow writes to. `uri` may hold credentials and is passed to MLflow only; `name` is public."""

    uri: str
    name: str
    """Without credentials: for messages."""
    key: str
    """Identifies it in tracking.json. The grid's own store keeps its key when the folder moves."""
    artifacts: Path | None
    """Where artifacts are; None if a server stores them."""

    @property
    def is_server(self) -> bool:
        """Whether the URI is of a running server."""
        return self.artifacts is None


def store_of(folder: GridFolder, tracking_uri: str | None = None) -> Store:
    """The store of a grid: the one given, else the one that grid.json names if this user wrote it, else its own."""
    uri = tracking_uri or folder.description().options.get(OPTION)
    own = folder.path.resolve() / DATABASE
    if not uri or uri == f"sqlite:///{own}":
        return Store(f"sqlite:///{own}", str(folder.path / DATABASE), DATABASE, own.parent / ARTIFACTS)
    if tracking_uri is None and not any(trial.is_signed() for trial in folder.trials()):
        raise InvalidInput(
            f"the grid in {folder.path} is tracked at {redacted(uri)}, and it was not written by you on this machine; "
            "if its data, and your own credentials for MLflow, may go there, pass the address with --tracking-uri"
        )
    if is_redacted(uri):
        raise InvalidInput(
            f"the grid in {folder.path} is tracked at {uri}, which needs a password that is not stored; "
            "pass it with --tracking-uri"
        )
    scheme = check_tracking_uri(uri)
    if scheme == "sqlite":
        uri = absolute_database(uri)
        return Store(uri, uri, uri, Path(uri.removeprefix("sqlite:///")).parent / ARTIFACTS)
    name = redacted(uri)
    return Store(uri, name, name, own.parent / ARTIFACTS if scheme in _DATABASES else None)


def absolute_database(uri: str) -> str:
    """An sqlite URI with an absolute path."""
    return f"sqlite:///{Path(uri.removeprefix('sqlite:///')).absolute()}"


def database_file(uri: str) -> Path | None:
    """The file of an sqlite URI; None for any other."""
    return Path(uri.removeprefix("sqlite:///").partition("?")[0]) if uri.startswith("sqlite:///") else None


def set_damaged_aside(store: Store) -> str:
    """Rename a grid's own database if it is damaged, so that a new one can take its place; its new name, or nothing.

    A database elsewhere may hold what is nowhere else: its owner decides.
    """
    path = database_file(store.uri)
    if store.key != DATABASE or path is None or not _is_damaged(path):
        return ""
    for ending in ("-journal", "-wal", "-shm"):  # SQLite would take them for the new one's
        set_aside(path.with_name(path.name + ending))
    return set_aside(path)


def _is_damaged(path: Path) -> bool:
    """Whether SQLite finds a fault; not if the database is merely locked or missing."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", timeout=0, uri=True)) as database:
            return database.execute("PRAGMA quick_check(1)").fetchone() != ("ok",)
    except sqlite3.DatabaseError as error:
        return not isinstance(error, sqlite3.OperationalError)


def check_tracking_uri(uri: str) -> str:
    """The scheme of a URI, checked to be one that MLflow supports."""
    if uri == "databricks":
        return uri
    try:
        scheme = urlsplit(uri).scheme.partition("+")[0]
    except ValueError as error:
        raise InvalidInput(f"tracking URI {redacted(uri)!r} is not an address: {error}") from error
    if scheme in ("", "file"):
        raise InvalidInput(
            f"tracking URI {redacted(uri)!r} is a folder of files, which MLflow no longer supports; "
            "use sqlite:///FILE.db or http://HOST:PORT"
        )
    further = {entry.name for entry in entry_points(group="mlflow.tracking_store")}
    if scheme not in (*_SERVERS, *_DATABASES, *further):
        raise unknown("kind of tracking URI", scheme, {*_SERVERS, *_DATABASES, *further})
    if any(character.isspace() for character in urlsplit(uri).netloc):
        raise InvalidInput(f"tracking URI {scheme}://*** has a space in its address; write %20 instead")
    if scheme == "sqlite" and not uri.startswith("sqlite:///"):
        raise InvalidInput(f"tracking URI {redacted(uri)!r} names no file; write sqlite:///FILE.db")
    return scheme


QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "GIT_PYTHON_REFRESH": "quiet",
}
"""MLflow's environment wherever we start it: no telemetry and no progress bars."""
IMPATIENT = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
}
"""Of our own client: a server that does not respond is asked again later, not retried for minutes."""


def mlflow_environment() -> dict[str, str]:
    """The environment of our processes that run MLflow; timeouts set by the user are kept."""
    return {**IMPATIENT, **os.environ, **QUIET}

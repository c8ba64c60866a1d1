"""Which MLflow store a grid's numbers go to: by default one in the grid's own folder, or any tracking URI."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from urllib.parse import urlsplit

from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.platform.run.folder import GridFolder
from bonuslab.platform.run.redaction import is_redacted, redacted

DATABASE = "mlflow.db"
ARTIFACTS = "mlartifacts"
"""Where `mlflow ui` looks for artifacts if it is started beside the database and told nothing else."""
OPTION = "tracking_uri"
"""Under `GridDescription.options`: the redacted URI, if it is not the grid's own store."""

_SERVERS = ("http", "https", "databricks")
_DATABASES = ("sqlite", "postgresql", "mysql", "mssql")


@dataclass(frozen=True)
class Store:
    """A place MLflow writes to. `uri` may hold credentials and goes to MLflow alone; `name` is for everyone."""

    uri: str
    name: str
    """Without credentials: for messages."""
    key: str
    """Names it in tracking.json. The grid's own store keeps its key when the folder is moved."""
    artifacts: Path | None
    """Where artifacts are; None where a server looks after them."""

    @property
    def is_server(self) -> bool:
        """Whether the URI is that of a running server."""
        return self.artifacts is None


def store_of(folder: GridFolder, tracking_uri: str | None = None) -> Store:
    """The store of a grid: the one given, else the one that grid.json names, else its own."""
    uri = tracking_uri or folder.description().options.get(OPTION)
    own = folder.path.resolve() / DATABASE
    if not uri or uri == f"sqlite:///{own}":
        return Store(f"sqlite:///{own}", str(folder.path / DATABASE), DATABASE, own.parent / ARTIFACTS)
    if is_redacted(uri):
        raise InvalidInput(
            f"the grid in {folder.path} is tracked at {uri}, which needs a password that is kept nowhere; "
            "give --tracking-uri with it"
        )
    scheme = check_tracking_uri(uri)
    if scheme == "sqlite":
        uri = absolute_database(uri)
        return Store(uri, uri, uri, Path(uri.removeprefix("sqlite:///")).parent / ARTIFACTS)
    name = redacted(uri)
    return Store(uri, name, name, own.parent / ARTIFACTS if scheme in _DATABASES else None)


def absolute_database(uri: str) -> str:
    """An sqlite URI that means the same file from every directory."""
    return f"sqlite:///{Path(uri.removeprefix('sqlite:///')).absolute()}"


def check_tracking_uri(uri: str) -> str:
    """The scheme of a URI that MLflow can use; anything else is refused."""
    if uri == "databricks":
        return uri
    scheme = urlsplit(uri).scheme.partition("+")[0]
    if scheme in ("", "file"):
        raise InvalidInput(
            f"tracking URI {redacted(uri)!r} is a folder of files, which MLflow has given up; "
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
"""MLflow's environment wherever we start it: it sends nothing home and prints no bars."""
IMPATIENT = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
}
"""Of our own client: a server that does not answer is asked again later, not for minutes on end."""


def mlflow_environment() -> dict[str, str]:
    """The environment of a process of ours in which MLflow runs; patience that the user has set stays."""
    return {**IMPATIENT, **os.environ, **QUIET}

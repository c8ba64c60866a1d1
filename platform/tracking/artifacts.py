"""The files of a run, how changes are detected, and how they are stored."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bonuslab.platform.run.folder import GRID_FILE, GridFolder, TrialFolder
from bonuslab.platform.run.redaction import redacted
from bonuslab.platform.run.state import TrialState
from bonuslab.platform.tracking.store import Store

if TYPE_CHECKING:
    from mlflow import MlflowClient

PROXY = "mlflow-artifacts:/"
"""Artifact URIs relative to the server, so that a moved folder keeps its artifacts."""


@dataclass(frozen=True)
class Artifact:
    """A text or a file of a run."""

    name: str
    """Path below the run's artifacts."""
    signature: str
    """Changes with the content: a file that was half written is sent again."""
    text: str | None = None
    file: Path | None = None


def trial_artifacts(trial: TrialFolder, state: TrialState) -> Iterator[Artifact]:
    """Configuration, checkpoint paths, last error and pictures of a trial, those that exist."""
    grid = trial.path.parents[1]
    yield from _text_file(trial.path / "trial.json", grid)
    yield from _text_file(trial.error_file, grid)
    if state.checkpoints:
        yield _text("checkpoints.json", json.dumps({"checkpoints": state.checkpoints}, indent=1) + "\n")
    if state.status == "finished":
        for picture in (trial.video, trial.summary):
            yield from _file(picture, picture.name, grid)


def grid_artifacts(folder: GridFolder) -> Iterator[Artifact]:
    """The grid's description, and its report if there is one."""
    yield from _text_file(folder.path / GRID_FILE, folder.path)
    for path in sorted(folder.report.rglob("*")):
        inside = path.relative_to(folder.report)
        if not any(part.startswith(".") for part in inside.parts):
            yield from _file(path, f"report/{inside.as_posix()}", folder.path)


class ArtifactStore:
    """Writes artifacts through the store's server or directly to its folder."""

    def __init__(self, store: Store, client: MlflowClient) -> None:
        self._store = store
        self._client = client

    def put(self, run_id: str, artifact_uri: str, artifact: Artifact) -> None:
        """Add or replace one artifact of a run."""
        if self._store.artifacts is not None and artifact_uri.startswith(PROXY):
            place = self._store.artifacts / artifact_uri.removeprefix(PROXY).lstrip("/") / artifact.name
            if not place.resolve().is_relative_to(self._store.artifacts.parent.resolve() / self._store.artifacts.name):
                raise PermissionError(f"{artifact_uri} leads out of {self._store.artifacts}")
            place.parent.mkdir(parents=True, exist_ok=True)
            if artifact.file is not None:
                shutil.copyfile(artifact.file, place)
            else:
                place.write_text(artifact.text or "")
        elif artifact.file is not None:
            folder = Path(artifact.name).parent.as_posix()
            self._client.log_artifact(run_id, str(artifact.file), None if folder == "." else folder)
        else:
            self._client.log_text(run_id, artifact.text or "", artifact.name)


def _text(name: str, text: str) -> Artifact:
    text = redacted(text)
    return Artifact(name, hashlib.sha256(text.encode()).hexdigest()[:16], text=text)


def _text_file(path: Path, root: Path) -> Iterator[Artifact]:
    if path.is_file() and _is_inside(path, root):
        yield _text(path.name, path.read_text(errors="replace"))


def _file(path: Path, name: str, root: Path) -> Iterator[Artifact]:
    if path.is_file() and _is_inside(path, root):
        about = path.stat()
        yield Artifact(name, f"{about.st_size}-{about.st_mtime_ns}", file=path)


def _is_inside(path: Path, root: Path) -> bool:
    """Whether no link leads elsewhere: a run of somebody else must not send our files."""
    return path.resolve().is_relative_to(root.resolve())

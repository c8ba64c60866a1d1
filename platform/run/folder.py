"""The folder of a grid, which everything else reads: driver, tracker, board and report.

    runs/<grid>/
        grid.json               what the grid is: experiment, scale, trials, commands, commits, versions
        trials/<trial id>/
            trial.json          settings and labels of one trial, never changed
            state.json          where it stands (`TrialState`)
            progress.csv        a row of numbers for every iteration
            error.txt           the traceback of its last failure, if it failed
            video.gif            one episode of the trained policy, once it has finished
            summary.png         the same episode on one picture
            tracking.json       its run in MLflow and what was delivered there
        checkpoints/            Tune's storage, unless the grid keeps it elsewhere
        mlflow.db, mlartifacts/ the MLflow store, unless a tracking server is used
        report/                 what `bonuslab report` wrote

Reading needs neither Ray nor PyTorch. The files are the truth; MLflow, board and report follow them.
"""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import asdict, dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd

from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.platform.run.state import TrialState, write_text

GRID_FILE = "grid.json"
TRIALS = "trials"
VIDEO = "video.gif"
SUMMARY = "summary.png"


@dataclass(frozen=True)
class TrialDescription:
    """One trial: its stable id, the settings of its run as plain values, and labels to group and compare by."""

    id: str
    settings: dict[str, Any]
    """`RunSettings.as_dict()`."""
    labels: dict[str, str]
    """task, contexts, bonus, scope (none, global, episodic or combined), seed, variant; perhaps suite."""


@dataclass
class GridDescription:
    """What a grid is."""

    name: str
    experiment: str
    """The experiment that declared it: `minihack_grid`, …"""
    scale: str
    trials: list[TrialDescription]
    commands: list[dict[str, Any]] = field(default_factory=list)
    """Every command that worked on it: {command, time, git_commit, versions}. No secrets."""
    options: dict[str, Any] = field(default_factory=dict)
    """Where checkpoints and tracking are; links to dashboards. No secrets."""


class TrialFolder:
    """One trial on disk."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.id = self.path.name
        self.progress = self.path / "progress.csv"
        self.state_file = self.path / "state.json"
        self.error_file = self.path / "error.txt"
        self.video = self.path / VIDEO
        self.summary = self.path / SUMMARY
        self.tracking_file = self.path / "tracking.json"

    def description(self) -> TrialDescription:
        """Its settings and labels."""
        return TrialDescription(**json.loads((self.path / "trial.json").read_text()))

    def state(self) -> TrialState:
        """Where it stands."""
        return TrialState.read(self.state_file)

    def rows(self) -> pd.DataFrame:
        """The whole rows of progress.csv in order; empty before the first. A row cut short by a crash is left out."""
        try:
            text = self.progress.read_text()
        except FileNotFoundError:
            return pd.DataFrame()
        whole = text[: text.rfind("\n") + 1]
        if not whole:
            return pd.DataFrame()
        return pd.read_csv(StringIO(whole))


class GridFolder:
    """A grid on disk. Reading needs no lock; the one driver that runs it holds it."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.checkpoints = self.path / "checkpoints"
        self.report = self.path / "report"
        self._lock: int | None = None

    @classmethod
    def open(cls, path: Path) -> GridFolder:
        """A grid that exists; anything else is refused with the grids there are."""
        folder = cls(path)
        if not (folder.path / GRID_FILE).is_file():
            near = grids_below(folder.path.parent if folder.path.parent.is_dir() else Path("runs"))
            found = f" Grids there: {', '.join(str(grid) for grid in near[:10])}." if near else ""
            raise InvalidInput(f"{path} is not the folder of a grid: it has no {GRID_FILE}.{found}")
        folder.description()
        return folder

    def description(self) -> GridDescription:
        """What is in grid.json."""
        file = self.path / GRID_FILE
        try:
            values = json.loads(file.read_text())
            trials = [TrialDescription(**trial) for trial in values.pop("trials")]
            return GridDescription(**values, trials=trials)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InvalidInput(f"{file} cannot be read as a grid: {error}") from error

    def write(self, description: GridDescription) -> None:
        """Write grid.json and a folder for every trial; what is there of a trial stays."""
        self.path.mkdir(parents=True, exist_ok=True)
        for trial in description.trials:
            folder = self.trial(trial.id)
            folder.path.mkdir(parents=True, exist_ok=True)
            write_text(folder.path / "trial.json", json.dumps(asdict(trial), indent=1) + "\n")
        write_text(self.path / GRID_FILE, json.dumps(asdict(description), indent=1) + "\n")

    def trial(self, identifier: str) -> TrialFolder:
        """One trial's folder."""
        return TrialFolder(self.path / TRIALS / identifier)

    def trials(self) -> list[TrialFolder]:
        """All trials that grid.json names, in its order."""
        return [self.trial(trial.id) for trial in self.description().trials]

    def lock(self) -> None:
        """Be the only driver of this grid until `release` or the end of the process."""
        self.path.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise InvalidInput(
                f"another process is running the grid in {self.path}; watch it with `bonuslab board`"
            ) from error
        self._lock = descriptor

    def release(self) -> None:
        """Let another process run the grid."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def grids_below(root: Path) -> list[Path]:
    """Folders of grids directly below `root`, the one touched last first."""
    if not root.is_dir():
        return []
    found = [path.parent for path in root.glob(f"*/{GRID_FILE}")]
    return sorted(found, key=lambda path: path.joinpath(GRID_FILE).stat().st_mtime, reverse=True)


def find_grid(given: str | None, root: Path = Path("runs")) -> GridFolder:
    """The grid a user means: a folder, a name below `root`, or without either the newest one there."""
    if given is not None:
        path = Path(given).expanduser()
        if not path.exists() and (root / given).exists():
            path = root / given
        if path.exists():
            return GridFolder.open(path)
    there = grids_below(root)
    if not there:
        raise InvalidInput(f"there is no grid below {root}/ yet; `bonuslab grid` or `make grid` makes one")
    if given is not None:
        raise unknown("grid", given, [path.name for path in there])
    return GridFolder.open(there[0])

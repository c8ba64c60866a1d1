"""The folder of a grid of trials; `bonuslab train` makes a grid of one. Everything else reads it.

    runs/<grid>/
        grid.json               what the grid is: experiment, scale, trials, commands, commits, versions
        plugins/                copies of the user's plugin files
        trials/<trial id>/
            trial.json          configuration and labels of one trial, never changed
            state.json          its status (`TrialState`)
            progress.csv        a row of metrics per iteration
            error.txt           the traceback of its last failure, if it failed
            video.gif           one episode of the trained policy, once it has finished
            summary.png         the same episode on one picture
            tracking.json       its run in MLflow and what was delivered there
        checkpoints/<trial id>/ unless the grid keeps them elsewhere
        mlflow.db, mlartifacts/ the MLflow store, unless a tracking server is used
        report/                 what `bonuslab report` wrote

Reading needs neither Ray nor PyTorch. The files are the source of truth; MLflow, board and report follow them.
"""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.run.rows import RowReader
from bonuslab.platform.run.state import TrialState, write_text

FORMAT = 2
"""Version of these files; other ones are refused."""
GRID_FILE = "grid.json"
TRIAL_FILE = "trial.json"
TRIALS = "trials"
PLUGINS = "plugins"
VIDEO = "video.gif"
SUMMARY = "summary.png"


@dataclass(frozen=True)
class TrialDescription:
    """One trial: its stable id, its configuration as plain values, and labels to group and compare by."""

    id: str
    config: dict[str, Any]
    """`Config.as_dict()`."""
    hyperparameters: dict[str, Any]
    """All values: the preset's with the changes of `config`."""
    labels: dict[str, str]
    """task, contexts, bonus, scope (none, global, episodic or combined), seed, variant; perhaps suite."""

    @property
    def total_env_steps(self) -> int:
        """Environment steps after which the trial ends."""
        return int(self.hyperparameters["total_env_steps"])


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
        return TrialDescription(**json.loads((self.path / TRIAL_FILE).read_text()))

    def state(self) -> TrialState:
        """Where it stands."""
        return TrialState.read(self.state_file)

    def rows(self) -> pd.DataFrame:
        """The whole rows of progress.csv in order; empty before the first. A row cut short by a crash is left out."""
        reader = RowReader(self.progress)
        cells, _ = reader.read()
        return pd.DataFrame(cells, columns=reader.columns).apply(pd.to_numeric, errors="coerce")


class GridFolder:
    """A grid on disk. Reading needs no lock; the one driver that runs it holds it."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.checkpoints = self.path / "checkpoints"
        self.report = self.path / "report"
        self.plugins = self.path / PLUGINS
        self._lock: int | None = None

    @classmethod
    def open(cls, path: Path) -> GridFolder:
        """A grid that exists; anything else is refused with the grids there are."""
        folder = cls(path)
        if not (folder.path / GRID_FILE).is_file():
            raise InvalidInput(f"{path} is not the folder of a grid: it has no {GRID_FILE}")
        folder.description()
        return folder

    def description(self) -> GridDescription:
        """What is in grid.json."""
        file = self.path / GRID_FILE
        try:
            values = json.loads(file.read_text())
            if values.pop("format", None) != FORMAT:
                raise InvalidInput(f"{self.path} was written by another version of bonuslab; this one cannot read it")
            trials = [TrialDescription(**trial) for trial in values.pop("trials")]
            return GridDescription(**values, trials=trials)
        except InvalidInput:
            raise
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InvalidInput(f"{file} cannot be read as a grid: {error}") from error

    def write(self, description: GridDescription) -> None:
        """Write grid.json and a folder for every trial; what is there of a trial stays."""
        self.path.mkdir(parents=True, exist_ok=True)
        for trial in description.trials:
            folder = self.trial(trial.id)
            folder.path.mkdir(parents=True, exist_ok=True)
            write_text(folder.path / "trial.json", json.dumps(asdict(trial), indent=1) + "\n")
        write_text(self.path / GRID_FILE, json.dumps({"format": FORMAT, **asdict(description)}, indent=1) + "\n")

    def trial(self, identifier: str) -> TrialFolder:
        """One trial's folder."""
        return TrialFolder(self.path / TRIALS / identifier)

    def trials(self) -> list[TrialFolder]:
        """All trials that grid.json names, in its order."""
        return [self.trial(trial.id) for trial in self.description().trials]

    def load_plugins(self, trial: TrialDescription) -> None:
        """Register what the trial's own copies of the user's plugins define; a changed copy is refused."""
        from bonuslab.algorithms.extensions import load_plugin

        for plugin in trial.config["plugins"]:
            load_plugin(self.path / plugin["file"], sha256=plugin["sha256"])

    def lock(self) -> None:
        """Be the only driver of this grid until `release` or the end of the process."""
        self.path.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise InvalidInput(f"another process is training in {self.path}; watch it with `bonuslab board`") from error
        self._lock = descriptor

    def release(self) -> None:
        """Let another process run the grid."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

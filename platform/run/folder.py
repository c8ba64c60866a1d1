"""The folder of a grid of trials; `bonuslab train` creates a grid of one.

    runs/<grid>/
        grid.json               what the grid is: experiment, scale, trials, commands, commits, versions
        plugins/                copies of the user's plugin files
        trials/<trial id>/
            trial.json          configuration and labels of one trial
            state.json          its status (`TrialState`)
            progress.csv        a row of metrics per iteration
            error.txt           the traceback of its last failure, if any
            video.gif           one episode of the trained policy, once it has finished
            summary.png         the same episode as one picture
            tracking.json       its MLflow run and what was synced to it
        checkpoints/<trial id>/ unless stored elsewhere
        mlflow.db, mlartifacts/ the MLflow store, unless a tracking server is used
        report/                 written by `bonuslab report`

Reading needs neither Ray nor PyTorch. The files are the source of truth; MLflow, board and report follow them.
"""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.run.rows import RowReader
from bonuslab.platform.run.state import TrialState, write_text

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 2
"""Version of these files; others are rejected."""
GRID_FILE = "grid.json"
TRIAL_FILE = "trial.json"
TRIALS = "trials"
PLUGINS = "plugins"
VIDEO = "video.gif"
SUMMARY = "summary.png"


@dataclass(frozen=True)
class TrialDescription:
    """One trial: its stable id, configuration, and labels to group and compare by."""

    id: str
    config: dict[str, Any]
    """`Config.as_dict()`."""
    hyperparameters: dict[str, Any]
    """All of them: the preset's, with the changes of `config`."""
    labels: dict[str, str]
    """task, contexts, bonus, scope (none, global, episodic or combined), seed, variant; optionally suite."""

    @property
    def total_env_steps(self) -> int:
        """Length of the trial in environment steps."""
        return int(self.hyperparameters["total_env_steps"])


@dataclass
class GridDescription:
    """The content of grid.json."""

    name: str
    experiment: str
    """Name of the experiment: `minihack_grid`, …"""
    scale: str
    trials: list[TrialDescription]
    commands: list[dict[str, Any]] = field(default_factory=list)
    """Every command that ran it: {command, time, git_commit, versions}, without secrets."""
    options: dict[str, Any] = field(default_factory=dict)
    """Locations of checkpoints and tracking, links to dashboards; without secrets."""


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
        """Its configuration and labels."""
        return TrialDescription(**json.loads((self.path / TRIAL_FILE).read_text()))

    def state(self) -> TrialState:
        """Its status and progress."""
        return TrialState.read(self.state_file)

    def rows(self) -> pd.DataFrame:
        """The complete rows of progress.csv, in order."""
        import pandas as pd  # half a second, which most commands can save

        reader = RowReader(self.progress)
        cells, _ = reader.read()
        return pd.DataFrame(cells, columns=reader.columns).apply(pd.to_numeric, errors="coerce")


class GridFolder:
    """A grid on disk. Reading needs no lock; the driver that runs the grid holds it."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.checkpoints = self.path / "checkpoints"
        self.report = self.path / "report"
        self.plugins = self.path / PLUGINS
        self._lock: int | None = None

    @classmethod
    def open(cls, path: Path) -> GridFolder:
        """Open an existing grid."""
        folder = cls(path)
        if not (folder.path / GRID_FILE).is_file():
            raise InvalidInput(f"{path} is not a grid folder: it has no {GRID_FILE}")
        folder.description()
        return folder

    def description(self) -> GridDescription:
        """Read grid.json."""
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
        """Write grid.json and a folder per trial; existing results stay."""
        self.path.mkdir(parents=True, exist_ok=True)
        for trial in description.trials:
            folder = self.trial(trial.id)
            folder.path.mkdir(parents=True, exist_ok=True)
            write_text(folder.path / TRIAL_FILE, json.dumps(asdict(trial), indent=1) + "\n")
        write_text(self.path / GRID_FILE, json.dumps({"format": FORMAT, **asdict(description)}, indent=1) + "\n")

    def trial(self, identifier: str) -> TrialFolder:
        """One trial's folder."""
        return TrialFolder(self.path / TRIALS / identifier)

    def trials(self) -> list[TrialFolder]:
        """All trials, in the order of grid.json."""
        return [self.trial(trial.id) for trial in self.description().trials]

    def load_plugins(self, trial: TrialDescription) -> None:
        """Load the trial's copies of the user's plugins; rejects modified copies."""
        from bonuslab.algorithms.extensions import load_plugin

        for plugin in trial.config["plugins"]:
            load_plugin(self.path / plugin["file"], sha256=plugin["sha256"])

    def lock(self) -> None:
        """Become the grid's only driver until `release` or the end of the process."""
        self.path.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise InvalidInput(f"another process is training in {self.path}; watch it with `bonuslab board`") from error
        self._lock = descriptor

    def release(self) -> None:
        """Unlock the grid."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

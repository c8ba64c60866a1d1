"""The folder of a grid of trials; `bonuslab train` creates a grid of one.

    runs/<grid>/
        grid.json               what the grid is: experiment, scale, trials, commands, commits, versions
        grid.copy.json          its backup, used if grid.json is damaged
        plugins/                copies of the user's plugin files
        trials/<trial id>/
            trial.json          configuration and labels of one trial, signed by the user who wrote it
            state.json          its status (`TrialState`)
            progress.csv        a row of metrics per iteration
            events.out.tfevents.* the same for TensorBoard
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

from bonuslab.algorithms.data.small_files import DamagedFile, fits, read_json, typed
from bonuslab.algorithms.learning.trust import is_signed, require_trust, signature
from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.run.rows import RowReader
from bonuslab.platform.run.state import TrialState, write_text

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 2
"""Version of these files; others are rejected."""
GRID_FILE, GRID_COPY = "grid.json", "grid.copy.json"
TRIAL_FILE = "trial.json"
TRIALS = "trials"
PLUGINS = "plugins"
VIDEO = "video.gif"
SUMMARY = "summary.png"
LABELS = ("task", "bonus", "scope", "seed")
"""Labels that every trial has."""


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
        """Length of the trial in environment steps; 0 if unknown."""
        return int(self.hyperparameters.get("total_env_steps", 0))


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

    def generation_id(self, trial: str) -> str:
        """Names a trial's checkpoints and runs; one restarted with other settings begins new ones."""
        generation = self.options.get("generations", {}).get(trial)
        return trial if generation is None else f"{trial}.{generation}"


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
        """Its configuration and labels; those of grid.json if trial.json is damaged."""
        try:
            return self.own_description()
        except (DamagedFile, FileNotFoundError):
            for trial in GridFolder(self.path.parent.parent).description().trials:
                if trial.id == self.id:
                    return trial
            raise

    def own_description(self) -> TrialDescription:
        """The content of trial.json; raises `DamagedFile`."""
        file = self.path / TRIAL_FILE
        return _trial(read_json(file), file)

    def state(self) -> TrialState:
        """Its status and progress; a trial whose state is damaged counts as failed until the grid is resumed."""
        try:
            return TrialState.read(self.state_file)
        except DamagedFile as error:
            return TrialState(status="failed", error=str(error))

    def is_signed(self) -> bool:
        """Whether this user wrote trial.json on this machine."""
        try:
            return is_signed(asdict(self.own_description()), read_json(self.path / TRIAL_FILE).get("signature"))
        except (DamagedFile, FileNotFoundError):
            return False

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
        if not (folder.path / GRID_FILE).exists():
            raise InvalidInput(f"{path} is not a grid folder: it has no {GRID_FILE}")
        folder.description()
        return folder

    def description(self) -> GridDescription:
        """Read grid.json, or its copy if it is damaged."""
        try:
            return self.read_description(GRID_FILE)
        except (InvalidInput, FileNotFoundError) as error:
            try:
                return self.read_description(GRID_COPY)
            except (InvalidInput, FileNotFoundError):
                raise InvalidInput(str(error)) from error

    def read_description(self, name: str) -> GridDescription:
        """The content of grid.json or its copy; raises `DamagedFile`."""
        file = self.path / name
        values = read_json(file)
        if isinstance(values, dict) and values.get("format") != FORMAT:
            raise InvalidInput(f"{self.path} was written by another version of bonuslab; this one cannot read it")
        if not isinstance(values, dict) or not isinstance(values.get("trials"), list):
            raise DamagedFile(f"{file} cannot be read: it has no trials")
        trials = [_trial(trial, file) for trial in values["trials"]]
        found = typed(GridDescription, {**values, "trials": trials}, file)
        if not fits(found.options.get("generations", {}), dict[str, int]):
            raise DamagedFile(f"{file} cannot be read: its generations are not numbers")
        if not all(_is_command(one) for one in found.commands):
            raise DamagedFile(f"{file} cannot be read: its commands are incomplete")
        return found

    def write(self, description: GridDescription) -> None:
        """Write grid.json and a folder per trial; existing results stay."""
        self.path.mkdir(parents=True, exist_ok=True)
        for trial in description.trials:
            folder = self.trial(trial.id)
            folder.path.mkdir(parents=True, exist_ok=True)
            values = asdict(trial)
            signed = {**values, "signature": signature(values)}
            write_text(folder.path / TRIAL_FILE, json.dumps(signed, indent=1) + "\n")
        for name in (GRID_FILE, GRID_COPY):
            write_text(self.path / name, json.dumps({"format": FORMAT, **asdict(description)}, indent=1) + "\n")

    def trial(self, identifier: str) -> TrialFolder:
        """One trial's folder."""
        return TrialFolder(self.path / TRIALS / identifier)

    def trials(self) -> list[TrialFolder]:
        """All trials, in the order of grid.json."""
        return [self.trial(trial.id) for trial in self.description().trials]

    def load_plugins(self, trial: TrialDescription, trust: bool = False) -> None:
        """Load the trial's copies of the user's plugins; rejects modified copies, and those of other users' runs."""
        from bonuslab.algorithms.extensions import load_plugin

        for plugin in trial.config.get("plugins", ()):
            file = (self.path / plugin["file"]).resolve()
            if file.parent != self.plugins.resolve():
                raise InvalidInput(f"plugin {file} does not lie in {self.plugins}, where this run keeps its copies")
            require_trust(
                f"the run in {self.path} needs its plugin {file.name}", self.trial(trial.id).is_signed(), trust
            )
            load_plugin(file, sha256=plugin["sha256"])

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


def _trial(values: Any, place: Path) -> TrialDescription:
    """A trial's description, checked for all that its readers rely on."""
    trial = typed(TrialDescription, values, place)
    steps = trial.hyperparameters.get("total_env_steps", 0)
    plugins = trial.config.get("plugins", [])
    missing = set(LABELS) - trial.labels.keys()
    if trial.id in ("", ".", "..") or "/" in trial.id:
        reason = f"trial {trial.id!r} is not a valid folder name"
    elif not fits(steps, int) or steps < 0:
        reason = f"trial {trial.id} has {steps!r} steps"
    elif missing:
        reason = f"trial {trial.id} has no {', '.join(sorted(missing))}"
    elif not isinstance(trial.config.get("task", ""), str):
        reason = f"trial {trial.id} has no task"
    # Only copies: a run must not be able to name any other file of this machine as its plugin.
    elif not fits(plugins, list[dict[str, str]]) or any(one.keys() != {"file", "sha256"} for one in plugins):
        reason = f"trial {trial.id} has plugins that are not copies"
    else:
        return trial
    raise DamagedFile(f"{place} cannot be read: {reason}")


def _is_command(values: dict[str, Any]) -> bool:
    """Whether an entry of `GridDescription.commands` has the types that `this_command` writes."""
    required = fits(values.get("command"), str) and fits(values.get("time"), str)
    return required and fits(values.get("versions"), dict[str, str] | None) and fits(values.get("hardware"), str | None)

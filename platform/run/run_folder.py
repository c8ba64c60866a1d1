"""The folder of a run: run.json, progress.csv and checkpoints/checkpoint_<steps>."""

from __future__ import annotations

import fcntl
import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from bonuslab.algorithms.bonuses import parse
from bonuslab.algorithms.learning.checkpoint import newest_whole, write_atomically
from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.run.config import RunSettings

SETTINGS_FILE = "run.json"
PROGRESS_FILE = "progress.csv"
ERROR_FILE = "error.txt"
CHECKPOINTS = "checkpoints"
KEPT_CHECKPOINTS = 2
BUILT_FROM = "BONUSLAB_COMMIT"
"""Variable that deploy/Dockerfile sets."""
PACKAGES = ("bonuslab", "ray", "torch", "numpy", "gymnasium", "nle", "minihack")


class RunFolder:
    """One run on disk. It is locked while a process trains in it."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.progress = self.path / PROGRESS_FILE
        self.checkpoints = self.path / CHECKPOINTS
        self._lock: int | None = None

    @classmethod
    def create(cls, path: Path, settings: RunSettings) -> RunFolder:
        """A new run in a folder that is empty or does not exist yet."""
        folder = cls(path)
        if (folder.path / SETTINGS_FILE).exists():
            raise InvalidInput(
                f"--out {path} holds a run already; continue it with --resume {path}, or choose another folder"
            )
        if folder.path.exists() and not folder.path.is_dir():
            raise InvalidInput(f"--out {path} cannot be used: it is a file")
        try:
            folder.path.mkdir(parents=True, exist_ok=True)
            if any(folder.path.iterdir()):
                raise InvalidInput(f"--out {path} cannot be used: the folder is not empty")
            folder._take()
            folder.write_settings(settings)
        except OSError as error:
            raise InvalidInput(f"--out {path} cannot be written to: {error.strerror or error}") from error
        return folder

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """A run that was begun before, to go on with."""
        folder = cls(path)
        folder.settings()
        try:
            folder._take()
            tempfile.TemporaryFile(dir=folder.path).close()
        except OSError as error:
            raise InvalidInput(f"--resume {path} cannot be written to: {error.strerror or error}") from error
        return folder

    def settings(self) -> RunSettings:
        """The settings in run.json."""
        file = self.path / SETTINGS_FILE
        if not file.is_file():
            raise InvalidInput(f"{self.path} is not the folder of a run: it has no {SETTINGS_FILE}")
        try:
            return RunSettings.from_dict(json.loads(file.read_text())["settings"])
        except InvalidInput as error:
            raise InvalidInput(f"{file} cannot be used: {error}") from error
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InvalidInput(f"{file} cannot be read as a run's settings: {error}") from error

    def write_settings(self, settings: RunSettings) -> None:
        """Write run.json: the settings, and the versions they ran with."""
        described = {
            "settings": settings.as_dict(),
            "numbers": vars(settings.numbers),
            "bonus": str(parse(settings.bonus)),
            "versions": {"python": platform.python_version()} | {name: version(name) for name in PACKAGES},
            "git_commit": git_commit(),
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        building = self.path / f".{SETTINGS_FILE}.building"
        building.write_text(json.dumps(described, indent=1) + "\n")
        os.replace(building, self.path / SETTINGS_FILE)

    def save_checkpoint(self, steps: int, write: Callable[[Path], object]) -> Path:
        """Let `write` fill a checkpoint, give it its name once it is whole, and drop all but the last two."""

        def fill(folder: Path) -> None:
            write(folder.resolve())  # Ray takes a relative path for a URI

        path = write_atomically(self.checkpoints / f"checkpoint_{steps:012d}", fill)
        for old in sorted(self.checkpoints.glob("checkpoint_*"))[:-KEPT_CHECKPOINTS]:
            shutil.rmtree(old)
        return path

    def newest_checkpoint(self) -> tuple[Path | None, list[str]]:
        """The newest whole checkpoint, and what is wrong with newer ones."""
        found, problems = newest_whole(self.checkpoints)
        if found is None and problems:
            raise InvalidInput(f"no checkpoint of {self.path} is whole: {'; '.join(problems)}")
        return found, problems

    def set_aside_newer(self, checkpoint: Path) -> None:
        """Rename the (damaged) checkpoints that are newer than this one, so that none is mistaken for its future."""
        for path in self.checkpoints.glob("checkpoint_*"):
            if path.name > checkpoint.name:
                aside = path.with_name(f"damaged_{path.name}")
                shutil.rmtree(aside, ignore_errors=True)
                path.rename(aside)

    def is_empty(self) -> bool:
        """Whether not even one iteration was finished here."""
        return not self.progress.exists() or not self.progress.stat().st_size

    def discard(self) -> None:
        """Remove the folder of a run that never began."""
        self.release()
        shutil.rmtree(self.path, ignore_errors=True)

    def release(self) -> None:
        """Let other processes train here."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _take(self) -> None:
        self._lock = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.release()
            raise InvalidInput(f"another process is training in {self.path}") from error


def checkpoint_steps(checkpoint: Path) -> int:
    """Environment steps at which a checkpoint was taken, from its name."""
    return int(checkpoint.name.removeprefix("checkpoint_"))


def default_path(settings: RunSettings) -> Path:
    """A folder below runs/ that says what the run is, and does not exist yet."""
    bonus = re.sub(r"[^A-Za-z0-9.]+", "-", settings.bonus.replace("*", " x ").replace("+", " plus ")).strip("-")
    task = settings.task.removeprefix("MiniHack-").removesuffix("-v0")
    name = f"{task}_{bonus[:60]}_contexts-{settings.contexts}_seed-{settings.seed}"
    path, number = Path("runs") / name, 2
    while path.exists():
        path, number = Path("runs") / f"{name}_{number}", number + 1
    return path


def git_commit() -> str | None:
    """The commit of this source tree, marked `-dirty` if it was changed since; in an image, what it was built from."""
    here = Path(__file__).resolve().parent
    command = ["git", "-C", str(here), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return os.environ.get(BUILT_FROM)
    return found.stdout.strip() or os.environ.get(BUILT_FROM)

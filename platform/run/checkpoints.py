"""Checkpoints of one trial at a path or URI: the newest are kept, damaged ones are skipped."""

from __future__ import annotations

import io
import re
import shutil
import tarfile
import warnings
from os.path import expanduser
from pathlib import Path
from typing import Protocol

from pyarrow import fs

from bonuslab.algorithms.learning.checkpoint import MANIFEST, DamagedCheckpoint, verify
from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.run.find import Found
from bonuslab.platform.run.redaction import is_redacted, redacted
from bonuslab.platform.run.state import set_aside

KEPT_CHECKPOINTS = 2
"""Of a running trial: the newest, and the one before in case the newest is damaged."""
_NAME = "checkpoint_{:012d}"
_A_NAME = re.compile(r"checkpoint_\d{12,}")


class Checkpoints(Protocol):
    """Where a trial keeps its checkpoints."""

    def save(self, steps: int, folder: Path, last: bool) -> list[str]:
        """Store a sealed checkpoint; returns the locations of all checkpoints, oldest first."""

    def newest(self, scratch: Path, owned: bool = False) -> tuple[Path | None, list[str]]:
        """The newest intact checkpoint as a local folder (in `scratch` if remote), and problems with newer ones.

        Whoever trains on owns them: damaged ones on a disk are renamed, so that nothing overwrites or deletes them.
        """

    def kept(self) -> list[str]:
        """The locations of all checkpoints, oldest first."""


class CheckpointStore:
    """A folder or object-store prefix. Object stores cannot rename, so the manifest is copied last to commit."""

    def __init__(self, location: str) -> None:
        self._shown = redacted(location)
        self._files, self._root = open_storage(location)
        self._local = isinstance(self._files, fs.LocalFileSystem)

    def save(self, steps: int, folder: Path, last: bool) -> list[str]:
        """See `Checkpoints`. The last checkpoint of a trial replaces all others."""
        name = _NAME.format(steps)
        target = f"{self._root}/{name}"
        self._files.create_dir(target, recursive=True)
        self._files.delete_dir_contents(target)  # what an attempt that was cut short has left
        manifest = folder.parent / MANIFEST
        shutil.move(folder / MANIFEST, manifest)
        fs.copy_files(str(folder), target, destination_filesystem=self._files)
        fs.copy_files(str(manifest), f"{target}/{MANIFEST}", destination_filesystem=self._files)
        shutil.move(manifest, folder / MANIFEST)
        older = [one for one in self._names() if one <= name]  # newer ones were refused; they must not displace this
        kept = older[-(1 if last else KEPT_CHECKPOINTS) :]
        for old in older[: -len(kept)]:
            self._files.delete_dir(f"{self._root}/{old}")
        return [f"{self._shown}/{name}" for name in kept]

    def newest(self, scratch: Path = Path(), owned: bool = False) -> tuple[Path | None, list[str]]:
        """See `Checkpoints`. Local checkpoints are used in place."""
        problems: list[str] = []
        for name in reversed(self._names()):
            try:
                folder = Path(self._root, name) if self._local else self._fetched(name, scratch)
                verify(folder)
            except (DamagedCheckpoint, OSError) as error:
                problems.append(f"{error} ({self._shown}/{name})")
                place = Path(self._root, name)
                if owned and self._local and isinstance(error, DamagedCheckpoint) and (place / MANIFEST).exists():
                    problems[-1] += f"; it is now {set_aside(place)}"
            else:
                return folder, problems
        return None, problems

    def _names(self) -> list[str]:
        found = self._files.get_file_info(fs.FileSelector(self._root, allow_not_found=True))
        return sorted(info.base_name for info in found if _A_NAME.fullmatch(info.base_name))

    def kept(self) -> list[str]:
        """See `Checkpoints`."""
        return [f"{self._shown}/{name}" for name in self._names()]

    def _fetched(self, name: str, scratch: Path) -> Path:
        folder = scratch / name
        folder.mkdir(parents=True, exist_ok=True)
        fs.copy_files(f"{self._root}/{name}", str(folder), source_filesystem=self._files)
        return folder


def newest_checkpoint(found: Found) -> Path:
    """The newest intact checkpoint of a trial on this machine; warns about newer damaged ones."""
    trial = found.require_trial()
    kept = trial.state().checkpoints
    # The folder may have been moved, or its state be damaged: prefer the checkpoints inside it to the recorded path.
    place = found.grid.checkpoints / found.grid.description().generation_id(trial.id)
    if not place.is_dir():
        if not kept:
            raise InvalidInput(f"{trial.path} has no checkpoint yet")
        if "://" in kept[-1]:
            raise InvalidInput(f"the checkpoints of {trial.id} are at {kept[-1]}; copy one here to load it")
        place = Path(kept[-1]).parent
    folder, problems = CheckpointStore(str(place)).newest()
    for problem in problems:
        warnings.warn(problem, stacklevel=2)
    if folder is None:
        raise InvalidInput(f"{trial.path} has no intact checkpoint: {'; '.join(problems) or 'the files are gone'}")
    return folder


def open_storage(location: str) -> tuple[fs.FileSystem, str]:
    """The file system of a path or URI, and the path within it."""
    if "://" not in location:
        return fs.LocalFileSystem(), str(Path(expanduser(location)).absolute())
    if is_redacted(location):
        raise InvalidInput(f"{location} needs credentials that are not stored; pass it with --storage")
    try:
        files, root = fs.FileSystem.from_uri(location)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"invalid --storage {redacted(location)}: {redacted(str(error))}") from error
    return files, root.rstrip("/")


def require_writable(location: str) -> None:
    """Reject a path or URI that cannot be written to, by trying."""
    files, root = open_storage(location)
    probe = f"{root}/.bonuslab-was-here"
    try:
        files.create_dir(root, recursive=True)
        with files.open_output_stream(probe) as stream:
            stream.write(b"1")
        files.delete_file(probe)
    except OSError as error:
        raise InvalidInput(f"{redacted(location)} cannot be written to: {redacted(str(error))}") from error


def pack(folder: Path) -> bytes:
    """A folder as a tar archive, to send between machines."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.add(folder, arcname=".")
    return buffer.getvalue()


def unpack(data: bytes, folder: Path) -> Path:
    """The inverse of `pack`."""
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        archive.extractall(folder, filter="data")
    return folder

"""The checkpoints of one trial at a path or URI: the last ones are kept, and a damaged one is passed over."""

from __future__ import annotations

import io
import shutil
import tarfile
import warnings
from pathlib import Path
from typing import Protocol

from pyarrow import fs

from bonuslab.algorithms.learning.checkpoint import MANIFEST, DamagedCheckpoint, verify
from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.run.find import Found
from bonuslab.platform.run.redaction import redacted

KEPT_CHECKPOINTS = 2
"""While a trial runs: the newest, and the one before in case the newest is damaged."""
_NAME = "checkpoint_{:012d}"


class Checkpoints(Protocol):
    """Where a trial keeps its checkpoints."""

    def save(self, steps: int, folder: Path, last: bool) -> list[str]:
        """Keep a sealed checkpoint; the places of all that are kept now, oldest first."""

    def newest(self, scratch: Path) -> tuple[Path | None, list[str]]:
        """The newest whole checkpoint as a local folder, in `scratch` if need be; what is wrong with newer ones."""


class CheckpointStore:
    """A folder or a prefix in an object store. Nothing is renamed there: the manifest, copied last, makes it whole."""

    def __init__(self, place: str) -> None:
        self._shown = redacted(place)
        self._files, self._root = open_place(place)
        self._local = isinstance(self._files, fs.LocalFileSystem)

    def save(self, steps: int, folder: Path, last: bool) -> list[str]:
        """See `Checkpoints`. After the last one of a trial no other is needed."""
        name = _NAME.format(steps)
        place = f"{self._root}/{name}"
        self._files.create_dir(place, recursive=True)
        manifest = folder.parent / MANIFEST
        shutil.move(folder / MANIFEST, manifest)
        fs.copy_files(str(folder), place, destination_filesystem=self._files)
        fs.copy_files(str(manifest), f"{place}/{MANIFEST}", destination_filesystem=self._files)
        shutil.move(manifest, folder / MANIFEST)
        names = self._names()
        kept = names[-(1 if last else KEPT_CHECKPOINTS) :]
        for old in names[: -len(kept)]:
            self._files.delete_dir(f"{self._root}/{old}")
        return [f"{self._shown}/{name}" for name in kept]

    def newest(self, scratch: Path = Path()) -> tuple[Path | None, list[str]]:
        """See `Checkpoints`. One that is already on this machine is used where it lies."""
        problems: list[str] = []
        for name in reversed(self._names()):
            try:
                folder = Path(self._root, name) if self._local else self._fetched(name, scratch)
                verify(folder)
            except (DamagedCheckpoint, OSError) as error:
                problems.append(f"{error} ({self._shown}/{name})")
            else:
                return folder, problems
        return None, problems

    def size(self) -> int:
        """Bytes of all checkpoints."""
        found = self._files.get_file_info(fs.FileSelector(self._root, allow_not_found=True, recursive=True))
        return sum(info.size or 0 for info in found)

    def _names(self) -> list[str]:
        found = self._files.get_file_info(fs.FileSelector(self._root, allow_not_found=True))
        return sorted(info.base_name for info in found if info.base_name.startswith("checkpoint_"))

    def _fetched(self, name: str, scratch: Path) -> Path:
        folder = scratch / name
        folder.mkdir(parents=True, exist_ok=True)
        fs.copy_files(f"{self._root}/{name}", str(folder), source_filesystem=self._files)
        return folder


def newest_checkpoint(found: Found) -> Path:
    """The newest whole checkpoint of a trial on this machine; where newer ones are damaged, a warning says so."""
    trial = found.require_trial()
    kept = trial.state().checkpoints
    if not kept:
        raise InvalidInput(f"{trial.path} has no checkpoint yet")
    if "://" in kept[-1]:
        raise InvalidInput(f"the checkpoints of {trial.id} are at {kept[-1]}; copy one here to load it")
    # A folder that was moved or copied has its own beside its trials.
    place = Path(kept[-1]).parent
    beside = found.grid.checkpoints / place.name
    folder, problems = CheckpointStore(str(beside if beside.is_dir() else place)).newest()
    for problem in problems:
        warnings.warn(problem, stacklevel=2)
    if folder is None:
        raise InvalidInput(f"no checkpoint of {trial.path} is whole: {'; '.join(problems) or 'they are gone'}")
    return folder


def open_place(place: str) -> tuple[fs.FileSystem, str]:
    """The file system of a path or URI, and the path in it; what cannot be used is refused."""
    if "://" not in place:
        return fs.LocalFileSystem(), str(Path(place).expanduser().absolute())
    try:
        files, root = fs.FileSystem.from_uri(place)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"--storage {redacted(place)} cannot be used: {redacted(str(error))}") from error
    return files, root.rstrip("/")


def require_writable(place: str) -> None:
    """Refuse a place that nothing can be written to, by trying."""
    files, root = open_place(place)
    probe = f"{root}/.bonuslab-was-here"
    try:
        files.create_dir(root, recursive=True)
        with files.open_output_stream(probe) as stream:
            stream.write(b"1")
        files.delete_file(probe)
    except OSError as error:
        raise InvalidInput(f"{redacted(place)} cannot be written to: {redacted(str(error))}") from error


def packed(folder: Path) -> bytes:
    """A folder as one piece, to be sent between machines."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.add(folder, arcname=".")
    return buffer.getvalue()


def unpacked(data: bytes, folder: Path) -> Path:
    """The inverse of `packed`."""
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        archive.extractall(folder, filter="data")
    return folder

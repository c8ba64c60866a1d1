"""Atomic, verified checkpoints: a manifest of checksums written last, then one rename into place."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

MANIFEST = "bonuslab_manifest.json"


class DamagedCheckpoint(ValueError):  # noqa: N818 (it reads as what it is)
    """A checkpoint that is incomplete or was modified after it was written."""


def write_atomically(path: Path, write: Callable[[Path], None]) -> Path:
    """Let `write` fill a temporary folder, seal it, then rename it to `path`."""
    path = Path(path)
    building = path.with_name(f".{path.name}.building")
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir(parents=True)
    try:
        write(building)
        seal(building)
        if path.exists():
            shutil.rmtree(path)
        os.replace(building, path)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return path


def seal(folder: Path) -> None:
    """Write the manifest: name, size and SHA-256 of every file in the folder."""
    files = {name: _digest(folder / name) for name in _files(folder)}
    temporary = folder / f"{MANIFEST}.tmp"
    temporary.write_text(json.dumps({"files": files}, indent=1))
    os.replace(temporary, folder / MANIFEST)


def verify(folder: Path) -> None:
    """Raise `DamagedCheckpoint` naming the first file that is missing or modified."""
    folder = Path(folder)
    if not (folder / MANIFEST).is_file():
        raise DamagedCheckpoint(f"{folder} is not a complete checkpoint: {MANIFEST} is missing; writing was cut short")
    try:
        files = json.loads((folder / MANIFEST).read_text())["files"]
    except (json.JSONDecodeError, KeyError) as error:
        raise DamagedCheckpoint(f"{folder / MANIFEST} cannot be read: {error}") from error
    for name, digest in files.items():
        if not (folder / name).is_file():
            raise DamagedCheckpoint(f"checkpoint {folder} is damaged: {name} is missing")
        if _digest(folder / name) != digest:
            raise DamagedCheckpoint(f"checkpoint {folder} is damaged: {name} does not match its checksum")


def newest_whole(folder: Path) -> tuple[Path | None, list[str]]:
    """The newest intact checkpoint in `folder` (by name), and what is wrong with newer ones."""
    problems: list[str] = []
    candidates = sorted(path for path in Path(folder).glob("checkpoint_*") if path.is_dir())
    for path in reversed(candidates):
        try:
            verify(path)
        except DamagedCheckpoint as error:
            problems.append(str(error))
        else:
            return path, problems
    return None, problems


def _files(folder: Path) -> list[str]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return sorted(str(path.relative_to(folder)) for path in paths if not path.name.startswith(MANIFEST))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

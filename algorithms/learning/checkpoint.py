"""Verified checkpoints: a manifest of checksums, written last, and the signature of the user who wrote it."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bonuslab.algorithms.data.small_files import DamagedFile, read_json, typed
from bonuslab.algorithms.learning.trust import is_signed, require_trust, signature

MANIFEST = "bonuslab_manifest.json"
MAX_MANIFEST_BYTES = 2**24


class DamagedCheckpoint(DamagedFile):
    """A checkpoint that is incomplete or was modified after it was written."""


@dataclass(frozen=True)
class Manifest:
    """The content of the manifest."""

    files: dict[str, str]
    """SHA-256 of every file, by its path in the folder."""
    signature: str | None = None
    """Of `files`; see `trust.py`."""


def seal(folder: Path) -> None:
    """Write the manifest: name and SHA-256 of every file in the folder, signed."""
    files = {name: _digest(folder / name) for name in _files(folder)}
    temporary = folder / f"{MANIFEST}.tmp"
    temporary.write_text(json.dumps({"files": files, "signature": signature(files)}, indent=1))
    os.replace(temporary, folder / MANIFEST)


def verify(folder: Path) -> Manifest:
    """Raise `DamagedCheckpoint` naming the first file that is missing, modified or does not belong."""
    folder = Path(folder)
    try:
        manifest = typed(Manifest, read_json(folder / MANIFEST, MAX_MANIFEST_BYTES), folder / MANIFEST)
        there = set(_files(folder))
    except FileNotFoundError as error:
        raise DamagedCheckpoint(
            f"{folder} is not a complete checkpoint: {MANIFEST} is missing; writing was cut short"
        ) from error
    except (DamagedFile, OSError) as error:
        raise DamagedCheckpoint(str(error)) from error
    for name in sorted(manifest.files.keys() | there):
        if name not in there:
            raise DamagedCheckpoint(f"checkpoint {folder} is damaged: {name} is missing")
        if name not in manifest.files:
            raise DamagedCheckpoint(f"checkpoint {folder} is damaged: {name} does not belong to it")
        if _digest(folder / name) != manifest.files[name]:
            raise DamagedCheckpoint(f"checkpoint {folder} is damaged: {name} does not match its checksum")
    return manifest


class Trust:
    """Refuses what would run code from a verified checkpoint, unless this user wrote it or trusts it."""

    def __init__(self, folder: Path, manifest: Manifest, trust: bool = False) -> None:
        self._folder = folder
        self._written_here = is_signed(manifest.files, manifest.signature)
        self._trust = trust

    def require(self, what: Any) -> None:
        """Raise `InvalidInput` that names `what` unless the checkpoint is trusted."""
        require_trust(f"checkpoint {self._folder} contains {what}", self._written_here, self._trust)


def _files(folder: Path) -> list[str]:
    """Everything in the folder, links and pipes included, except directories and the manifest itself."""
    names = (str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    return sorted(name for name in names if name not in (MANIFEST, f"{MANIFEST}.tmp"))


def _digest(path: Path) -> str:
    if path.is_symlink() or not path.is_file():
        return "not a file"
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

"""Temporary folders that a killed process does not leave behind for long: the next one removes them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_PREFIX: Final = "bonuslab-"
_ALIVE: Final = "alive"


class ScratchFolder:
    """A temporary folder of this process, to be removed by `remove`.

    A lock shows that its owner is alive, even across containers that share a folder but not process ids.
    """

    def __init__(self, kind: str, base: Path | None = None) -> None:
        remove_abandoned()
        base = base or Path(tempfile.gettempdir())
        # It gets its final name only once locked, so that no other process takes it for abandoned.
        unfinished = Path(tempfile.mkdtemp(prefix=f".{_PREFIX}{kind}-", dir=base))
        self._process = os.getpid()
        try:
            self._lock = os.open(unfinished / _ALIVE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:  # a full disk
            unfinished.rmdir()
            raise
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.path = base / unfinished.name.removeprefix(".")
        unfinished.rename(self.path)

    @property
    def is_mine(self) -> bool:
        """Whether this process made it; a forked child must not remove it."""
        return os.getpid() == self._process

    def remove(self) -> None:
        """Delete the folder; a second call does nothing."""
        if self.is_mine and self._lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = -1


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for a moment; besides what is put there it has a file named `alive`."""
    folder = ScratchFolder("scratch")
    try:
        yield folder.path
    finally:
        folder.remove()


def memory_folder() -> Path:
    """Where temporary files stay in memory, if this system has such a place."""
    shared_memory = Path("/dev/shm")
    if shared_memory.is_dir() and os.access(shared_memory, os.W_OK | os.X_OK):
        return shared_memory
    return Path(tempfile.gettempdir())


def remove_abandoned() -> None:
    """Remove the folders of processes that were killed."""
    for base in {memory_folder(), Path(tempfile.gettempdir())}:
        for path in base.glob(f"{_PREFIX}*-*"):
            with contextlib.suppress(OSError):
                lock = os.open(path / _ALIVE, os.O_RDWR | os.O_CLOEXEC)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # OSError: its owner is alive
                    shutil.rmtree(path, ignore_errors=True)
                finally:
                    os.close(lock)

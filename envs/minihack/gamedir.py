"""In-memory directories in which games run, removed when their process ends.

A game reads `nhdat` (an archive with the dungeon's layout) and, next to it, `mylevel.lev`. All games of a process
share one archive in one parent directory, which is removed at exit, after an uncaught exception, and on SIGTERM or
SIGHUP. After a SIGKILL, the next process that starts a game removes it.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import multiprocessing
import multiprocessing.util
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Final

from bonuslab.envs.minihack.levels.compiler import package_folder

_PREFIX: Final = "bonuslab-games-"
_UNFINISHED: Final = ".bonuslab-games-"
_ALIVE: Final = "alive"
_GAME_DATA: Final = ("dungeon", "quest.dat")
_HIGH_SCORE_FILES: Final = ("record", "logfile", "xlogfile")


class GameDirectory:
    """The directory of one game."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._process = os.getpid()
        self._level_path = str(path / "mylevel.lev")
        self._level: bytes | None = None

    def write_level(self, level: bytes) -> None:
        """Set the level of the next game."""
        if os.getpid() != self._process:
            raise RuntimeError(
                f"this game belongs to process {self._process}, from which process {os.getpid()} was forked: "
                "make environments in the process that plays them"
            )
        if level == self._level:
            return
        self._level = None
        with open(self._level_path, "wb", buffering=0) as file:
            file.write(level)
        self._level = level

    def remove(self) -> None:
        """Delete the directory of a closed game. A forked child leaves this to its parent."""
        if os.getpid() == self._process:
            shutil.rmtree(self.path, ignore_errors=True)


class _ProcessDirectory:
    """The parent of all game directories of one process."""

    def __init__(self) -> None:
        self._process = os.getpid()
        base = _memory_folder()
        _remove_abandoned(base)
        unfinished = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=base))
        # The lock shows that the owner is alive, even across containers that share /dev/shm but not process ids.
        # The directory gets its final name only once locked, so that no other process takes it for abandoned.
        self._lock = os.open(unfinished / _ALIVE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.path = base / unfinished.name.removeprefix(".")
        unfinished.rename(self.path)
        self._count = 0
        atexit.register(self.remove)
        if multiprocessing.parent_process() is not None:
            # multiprocessing children exit with os._exit, which skips atexit but not finalizers.
            multiprocessing.util.Finalize(None, self.remove, exitpriority=0)
        _archive_game_data(self.path / "nhdat")

    @property
    def is_mine(self) -> bool:
        """Whether this process made it; a forked child must not remove it."""
        return os.getpid() == self._process

    def new_game(self) -> GameDirectory:
        path = self.path / str(self._count)
        self._count += 1
        (path / "save").mkdir(parents=True)
        (path / "nhdat").symlink_to("../nhdat")
        (path / "perm").touch()
        for name in _HIGH_SCORE_FILES:
            # Every game appends to these; as real files they would fill memory.
            (path / name).symlink_to(os.devnull)
        return GameDirectory(path)

    def remove(self) -> None:
        if self.is_mine:
            shutil.rmtree(self.path, ignore_errors=True)


_current: _ProcessDirectory | None = None
_creation = threading.Lock()


def new_game_directory() -> GameDirectory:
    """A directory for a new game of this process."""
    global _current
    with _creation:
        if _current is None or not _current.is_mine or not _current.path.exists():
            _current = _ProcessDirectory()
            _clean_up_on_signals()
        return _current.new_game()


def _memory_folder() -> Path:
    shared_memory = Path("/dev/shm")
    if shared_memory.is_dir() and os.access(shared_memory, os.W_OK | os.X_OK):
        return shared_memory
    return Path(tempfile.gettempdir())


def _remove_abandoned(base: Path) -> None:
    """Remove the directories of processes that were killed."""
    for path in base.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            lock = os.open(path / _ALIVE, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # OSError: its owner is alive
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)


def _archive_game_data(archive: Path) -> None:
    """Write the archive with MiniHack's dungeon: a single level whose stairs win."""
    archiver = package_folder("nle") / "nethackdir" / "dlb"
    subprocess.run([archiver, "cf", archive, *_GAME_DATA], cwd=package_folder("minihack") / "lib", check=True)


def _clean_up_on_signals() -> None:
    """Remove the directories on signals that end the process without running atexit."""
    if threading.current_thread() is not threading.main_thread():
        return  # Python allows handlers in the main thread only; the next process removes the directories.
    for number in (signal.SIGTERM, signal.SIGHUP):
        # A Python handler (Ray has one) exits through SystemExit, which runs atexit, or continues and still needs the
        # games. An ignored signal stays ignored.
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _remove_and_die)


def _remove_and_die(number: int, frame: FrameType | None) -> None:
    if _current is not None:
        _current.remove()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)

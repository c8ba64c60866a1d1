"""Directories in which games run: in memory, made once a process, and gone when the process is.

A game reads `nhdat` (an archive with the dungeon's plan) and looks beside it for `mylevel.lev`. All games of a
process share one archive in one parent directory, which is removed at exit, after an uncaught exception and on
SIGTERM or SIGHUP. What a SIGKILL leaves behind is removed by the next process that starts a game.
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
        """Make `level` the level of the next game."""
        if os.getpid() != self._process:
            raise RuntimeError(
                f"this game was made in process {self._process}, from which process {os.getpid()} was forked, and is "
                "played there: make environments in the process that plays them"
            )
        if level == self._level:
            return
        self._level = None
        with open(self._level_path, "wb", buffering=0) as file:
            file.write(level)
        self._level = level

    def remove(self) -> None:
        """Delete the directory; the game in it must be closed. A forked child leaves it to its parent."""
        if os.getpid() == self._process:
            shutil.rmtree(self.path, ignore_errors=True)


class _ProcessDirectory:
    """The parent of all game directories of one process."""

    def __init__(self) -> None:
        self._process = os.getpid()
        base = _memory_folder()
        _remove_abandoned(base)
        unfinished = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=base))
        # The lock says that the owner is alive, also across containers that share /dev/shm, where process ids
        # do not. The directory gets its final name after it is locked, so that nobody takes it for abandoned.
        self._lock = os.open(unfinished / _ALIVE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.path = base / unfinished.name.removeprefix(".")
        unfinished.rename(self.path)
        self._count = 0
        atexit.register(self.remove)
        if multiprocessing.parent_process() is not None:
            # Children of multiprocessing leave by os._exit, which skips atexit but not these.
            multiprocessing.util.Finalize(None, self.remove, exitpriority=0)
        _archive_game_data(self.path / "nhdat")

    @property
    def is_mine(self) -> bool:
        """Whether this process made it (a forked child inherits the object but not the duty)."""
        return os.getpid() == self._process

    def new_game(self) -> GameDirectory:
        path = self.path / str(self._count)
        self._count += 1
        (path / "save").mkdir(parents=True)
        (path / "nhdat").symlink_to("../nhdat")
        (path / "perm").touch()
        for name in _HIGH_SCORE_FILES:
            # Every game appends its end here and nobody reads it: without this, memory would grow for ever.
            (path / name).symlink_to(os.devnull)
        return GameDirectory(path)

    def remove(self) -> None:
        if self.is_mine:
            shutil.rmtree(self.path, ignore_errors=True)


_current: _ProcessDirectory | None = None
_creation = threading.Lock()


def new_game_directory() -> GameDirectory:
    """A directory for one more game of this process."""
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
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # OSError: its owner lives
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)


def _archive_game_data(archive: Path) -> None:
    """Write the archive from which the game reads MiniHack's dungeon: one level, then stairs that win."""
    archiver = package_folder("nle") / "nethackdir" / "dlb"
    subprocess.run([archiver, "cf", archive, *_GAME_DATA], cwd=package_folder("minihack") / "lib", check=True)


def _clean_up_on_signals() -> None:
    """Remove the directories also when a signal would end the process without running atexit."""
    if threading.current_thread() is not threading.main_thread():
        return  # Python sets handlers in the main thread only; the next process removes what is left.
    for number in (signal.SIGTERM, signal.SIGHUP):
        # A handler of Python's own (Ray has one) ends the process through SystemExit, which runs atexit; one that
        # lets the process go on must find its games in place. An ignored signal stays ignored.
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _remove_and_die)


def _remove_and_die(number: int, frame: FrameType | None) -> None:
    if _current is not None:
        _current.remove()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)

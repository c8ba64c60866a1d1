"""In-memory directories in which games run, removed when their process ends.

A game reads `nhdat` (an archive with the dungeon's layout) and, next to it, `mylevel.lev`. All games of a process
share one archive in one parent directory, which is removed at exit, after an uncaught exception, and on SIGTERM or
SIGHUP. After a SIGKILL, the next process that starts a game removes it.
"""

from __future__ import annotations

import atexit
import multiprocessing
import multiprocessing.util
import os
import shutil
import signal
import subprocess
import threading
from pathlib import Path
from types import FrameType
from typing import Final

from bonuslab.envs.minihack.levels.compiler import package_folder
from bonuslab.envs.scratch import ScratchFolder, memory_folder

_GAME_DATA: Final = ("dungeon", "quest.dat")
_HIGH_SCORE_FILES: Final = ("record", "logfile", "xlogfile")


class GameDirectory:
    """The directory of one game."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._process = os.getpid()
        self._level_path = str(path / "mylevel.lev")
        self._level: bytes | None = None
        self._high_scores = [str(path / name) for name in _HIGH_SCORE_FILES]

    def prepare(self, level: bytes) -> None:
        """Set the level of the next game, and empty what the last one has written."""
        if os.getpid() != self._process:
            raise RuntimeError(
                f"this game belongs to process {self._process}, from which process {os.getpid()} was forked: "
                "make environments in the process that plays them"
            )
        for scores in self._high_scores:  # they would fill memory
            os.truncate(scores, 0)
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


class _ProcessDirectory(ScratchFolder):
    """The parent of all game directories of one process."""

    def __init__(self) -> None:
        super().__init__("games", memory_folder())
        self._count = 0
        atexit.register(self.remove)
        if multiprocessing.parent_process() is not None:
            # multiprocessing children exit with os._exit, which skips atexit but not finalizers.
            multiprocessing.util.Finalize(None, self.remove, exitpriority=0)
        _archive_game_data(self.path / "nhdat")

    def new_game(self) -> GameDirectory:
        path = self.path / str(self._count)
        self._count += 1
        (path / "save").mkdir(parents=True)
        (path / "nhdat").symlink_to("../nhdat")
        (path / "perm").touch()
        for name in _HIGH_SCORE_FILES:
            # Not links to /dev/null: games lock them, and one that finds a lock of another process sleeps for a second.
            (path / name).touch()
        return GameDirectory(path)


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

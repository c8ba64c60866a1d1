"""The command of a grid that `chaos.py` breaks: started again and again, watched, and cleaned up after."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from bonuslab.experiments.chaos_checks import abandoned, shared_memory
from bonuslab.platform.run.folder import GridFolder

SCRIPT = Path(__file__).with_name("chaos_grids.py")
MARK = "BONUSLAB_CHAOS"
"""Environment variable by which a grid's processes are recognised."""
DELIVERED = "every trial is in MLflow"
HANGS_SECONDS = 120.0
"""A grid hangs if it shows no sign of life for this long. Waiting for a busy machine does not count."""
POLL_SECONDS = 0.5
LEFT_SECONDS = 30.0
"""How long processes may take to end."""
NOT_OURS = re.compile("ray|pymp-")
"""Ray's logs and a socket of its dashboard."""
MOST_RUNS = 16
"""Runs of the same command; a fault that outlasts one run may need one more."""


class Patience:
    """How long nothing has happened, in seconds in which the machine let the processes run."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._since = time.monotonic()
        self._before: dict[int, tuple[int, int]] = {}

    def wait(self, times: dict[int, tuple[int, int]], waits_for_disk: bool) -> None:
        """Count the time since the last call; `times`: by process, nanoseconds on a core and waiting for one."""
        now = time.monotonic()
        spent = [
            [after - before for before, after in zip(self._before[pid], times[pid], strict=True)]
            for pid in times
            if pid in self._before
        ]
        ran, waited = (sum(column) for column in zip(*spent, strict=True)) if spent else (0, 0)
        if not waits_for_disk:
            self.seconds += (now - self._since) * (ran / (ran + waited) if ran + waited else 1.0)
        self._since, self._before = now, times


class Grid:
    """One grid and the processes of its command."""

    def __init__(self, scale: str, path: Path) -> None:
        self.scale, self.folder = scale, GridFolder(path / "grid")
        self._mark = f"{os.getpid()}-{path.name}"
        self._log, self._temporary = path.with_suffix(".log"), path / "t"
        self._temporary.mkdir()
        # Ray gives its workers a low priority, at which other programs of this machine would stop them.
        self._variables = {
            MARK: self._mark,
            "TMPDIR": str(self._temporary),
            "RAY_worker_niceness": "0",
            "OMP_NUM_THREADS": "1",
        }
        self.runs = 0

    def start(self, open_files: int | None = None) -> None:
        """Run the command, always the same."""
        self.runs += 1
        if self.runs > MOST_RUNS:
            raise RuntimeError(f"not finished after {MOST_RUNS} runs")
        words = ["--scale", self.scale, "--address", "local", "--out", str(self.folder.path)]

        def few_files() -> None:
            if open_files is not None:
                resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, open_files))

        with self._log.open("ab") as log:
            log.write(f"--- run {self.runs}\n".encode())
            log.flush()
            self._log_start = log.tell()
            self.process = subprocess.Popen(
                [sys.executable, str(SCRIPT), *words],
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=few_files,
                env=os.environ | self._variables,
            )

    def note(self, text: str) -> None:
        """A line in the command's log."""
        with self._log.open("a") as log:
            log.write(f"--- {text}\n")

    def processes(self) -> Iterator[psutil.Process]:
        """All processes of this grid, however they were started."""
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.environ().get(MARK) == self._mark and process.status() != psutil.STATUS_ZOMBIE:
                    yield process

    def find(self, text: str) -> list[psutil.Process]:
        """The processes with a text in their command line."""
        found = []
        for process in self.processes():
            with suppress(psutil.Error):
                found += [process] if text in " ".join(process.cmdline()) else []
        return found

    def wait_for_rows(self) -> bool:
        """Until there are rows that were not there, and a checkpoint; whether the command is still running."""
        before = self._rows()
        for _ in self._watched():
            if self._rows() - before and any(trial.state().checkpoints for trial in self.folder.trials()):
                return True
        return False

    def wait(self) -> None:
        """Until the command ends."""
        for _ in self._watched():
            pass

    def is_done(self) -> bool:
        """Whether the last command said that all is trained and delivered."""
        said = self._log.read_bytes()[self._log_start :].decode(errors="replace")
        return self.process.returncode == 0 and DELIVERED in said

    def leftovers(self, shared: set[str]) -> str:
        """What remains after the command; `shared`: what /dev/shm had before it."""
        patience = Patience()
        while (left := list(self.processes())) and patience.seconds < LEFT_SECONDS:
            patience.wait(*_times(left))
            time.sleep(POLL_SECONDS)
        if left:
            return f"{len(left)} processes remain: {', '.join(sorted({_name(process) for process in left}))}"
        if more := abandoned(shared_memory() - shared):
            return f"/dev/shm keeps {', '.join(more)}"
        files = sorted(path.name for path in self._temporary.iterdir() if not NOT_OURS.match(path.name))
        return f"the temporary folder keeps {', '.join(files)}" if files else ""

    def end(self) -> None:
        """Kill what is left."""
        while left := list(self.processes()):
            for process in left:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            psutil.wait_procs(left, LEFT_SECONDS)

    def _rows(self) -> set[tuple[str, int]]:
        return {(path.parent.name, path.stat().st_size) for path in self.folder.path.glob("trials/*/progress.csv")}

    def _watched(self) -> Iterator[None]:
        """Repeats while the command runs; `TimeoutError` if nothing happens for long."""
        seen, patience = None, Patience()
        while self.process.poll() is None:
            files = (self._log, *self.folder.path.glob("*"), *self.folder.path.glob("trials/*/*"))
            with suppress(FileNotFoundError):
                processes = list(self.processes())
                now = [path.stat().st_mtime_ns for path in files], [process.pid for process in processes]
                if now != seen:
                    seen, patience = now, Patience()
                patience.wait(*_times(processes))
                if patience.seconds > HANGS_SECONDS:
                    raise TimeoutError(f"nothing happened for {HANGS_SECONDS:.0f} s")
            yield
            time.sleep(POLL_SECONDS)


def _times(processes: list[psutil.Process]) -> tuple[dict[int, tuple[int, int]], bool]:
    """By process, nanoseconds on a core and waiting for one; whether any waits for the disk."""
    found, waits_for_disk = {}, False
    for process in processes:
        with suppress(OSError, psutil.Error):
            ran, waited, _ = Path(f"/proc/{process.pid}/schedstat").read_text().split()
            found[process.pid] = (int(ran), int(waited))
            waits_for_disk |= process.status() == psutil.STATUS_DISK_SLEEP
    return found, waits_for_disk


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.Error:
        return "one that has just ended"

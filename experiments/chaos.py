"""Break small grids in random ways, and check that nothing is lost, repeated or left behind.

    python experiments/chaos.py [--faults 100] [--seed 0] [--only driver trial …] [--grids serial …] [--out DIR]

Each grid (`chaos_grids.py`) gets several faults, one after the other; whenever its command ends early, it is run again
as it was. The finished grid is checked: trials that were finished before a fault stay as they were; rows have no gap
and no duplicate, in the trial's file and in MLflow; no process, no shared memory and no temporary file remains; nothing
takes longer than `HANGS_SECONDS`. Prints a table of what was tried and what survived; exits with status 1 if anything
was lost. With `--out`, adds a line per grid to chaos.csv there and keeps the output of grids that lost something.

`disk full` needs the right to mount a small file system and is left out without it.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from bonuslab.experiments.chaos_checks import Finished, abandoned, finished_trials, loss, shared_memory
from bonuslab.experiments.chaos_grids import SCALES
from bonuslab.platform.pictures.table import print_table
from bonuslab.platform.run.folder import GridFolder

SCRIPT = Path(__file__).with_name("chaos_grids.py")
MARK = "BONUSLAB_CHAOS"
"""Environment variable by which a grid's processes are recognised."""
DELIVERED = "every trial is in MLflow"
HANGS_SECONDS = 120.0
"""Without a new row or another sign of life for so long, a grid hangs. Waiting for a core of a busy machine is none."""
FROZEN_SECONDS = 30.0
POLL_SECONDS = 1.0
PAUSE_SECONDS = 4.0
"""At most so long after new rows the next fault strikes."""
LEFT_SECONDS = 30.0
"""So long may processes take to end."""
NOT_OURS = re.compile("ray|pymp-|torchinductor_")
"""Ray's logs, a socket of its dashboard, and the user's cache of PyTorch's compiler, which stays empty."""
OPEN_FILES = 256
DISK = "128m"
FAULTS_PER_GRID = 8
MOST_RUNS = FAULTS_PER_GRID + 4
"""Runs of the same command; a fault that outlasts one run may need one more."""

KILLED = {
    "trial": "ray::GridTrial",
    "runner": "ray::FragmentRunner",
    "bonus actor": "ray::SharedBonus",
    "learner": "ray::DDPPOWorker",
    "relay": "ray::Relay",
    "tracker": "bonuslab.platform.tracking",
    "raylet": "raylet/raylet",
    "gcs": "gcs_server",
}
"""By fault, a part of the command line of the process that is killed."""
ONLY_IN = {"runner": "impala", "bonus actor": "impala", "learner": "ddppo"}
"""Grids that have the process."""
FAULTS = (
    *("driver", *KILLED, "terminated", "frozen", "few files", "disk full"),
    *("database deleted", "database damaged", "database locked"),
)


class Grid:
    """One grid and the processes of its command."""

    def __init__(self, scale: str, path: Path) -> None:
        self.scale, self.folder = scale, GridFolder(path / "grid")
        self._mark = f"{os.getpid()}-{path.name}"
        self._log, self._temporary = path / "log", path / "t"
        self._temporary.mkdir()
        self.runs = 0

    def start(self, open_files: int | None = None) -> None:
        """Run the command, always the same."""
        self.runs += 1
        if self.runs > MOST_RUNS:
            raise RuntimeError(f"not finished after {MOST_RUNS} runs")
        words = ["--scale", self.scale, "--address", "local", "--out", str(self.folder.path)]
        # Ray gives its workers a low priority, at which other programs of this machine would stop them.
        more = {MARK: self._mark, "TMPDIR": str(self._temporary), "RAY_worker_niceness": "0", "OMP_NUM_THREADS": "1"}

        def few_files() -> None:
            if open_files is not None:
                resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, open_files))

        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(SCRIPT), *words],
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=few_files,
                env=os.environ | more,
            )
        self._log_start = self._log.stat().st_size

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
        deadline = time.monotonic() + LEFT_SECONDS
        while (left := [process.name() for process in self.processes()]) and time.monotonic() < deadline:
            time.sleep(0.5)
        if left:
            return f"{len(left)} processes remain: {', '.join(sorted(set(left)))}"
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
        seen, since, before = None, time.monotonic(), self._waiting()
        while self.process.poll() is None:
            files = (self._log, *self.folder.path.glob("*"), *self.folder.path.glob("trials/*/*"))
            with suppress(FileNotFoundError):
                waiting = self._waiting()
                now = [path.stat().st_mtime_ns for path in files], list(waiting)
                if now != seen:
                    seen, since, before = now, time.monotonic(), waiting
                waited = max((waiting[pid] - before[pid] for pid in waiting), default=0.0)
                if time.monotonic() - since - waited > HANGS_SECONDS:
                    raise TimeoutError(f"nothing happened for {HANGS_SECONDS:.0f} s")
            yield
            time.sleep(POLL_SECONDS)

    def _waiting(self) -> dict[int, float]:
        """By process, the seconds for which it was ready to run and another process had the core."""
        found = {}
        for process in self.processes():
            with suppress(OSError):
                found[process.pid] = int(Path(f"/proc/{process.pid}/schedstat").read_text().split()[1]) / 1e9
        return found


def strike(fault: str, grid: Grid, chance: random.Random) -> bool:
    """Do what the fault's name says; whether there was something to break."""
    if fault in KILLED:
        found = grid.find(KILLED[fault])
        if found:
            chance.choice(found).kill()
        return bool(found)
    database = grid.folder.path / "mlflow.db"
    if fault.startswith("database") and not database.exists():
        return False
    if fault == "driver":
        grid.process.kill()
    elif fault == "terminated":
        os.killpg(grid.process.pid, signal.SIGTERM)
    elif fault == "frozen":
        victim = chance.choice(list(grid.processes()))
        victim.suspend()
        time.sleep(FROZEN_SECONDS)
        with suppress(psutil.NoSuchProcess):
            victim.resume()
    elif fault == "few files":
        grid.process.send_signal(signal.SIGINT)
        grid.wait()
        grid.start(OPEN_FILES)
    elif fault == "disk full":
        _fill(grid.folder.path.parent / "ballast", grid)
    elif fault == "database deleted":
        for file in database.parent.glob("mlflow.db*"):
            file.unlink()
    elif fault == "database damaged":
        with database.open("r+b") as store_file:
            store_file.write(chance.randbytes(4_096))
    elif fault == "database locked":
        with suppress(sqlite3.OperationalError), sqlite3.connect(database, timeout=60) as store:
            store.execute("begin exclusive")
            time.sleep(FROZEN_SECONDS)
    return True


def _fill(ballast: Path, grid: Grid) -> None:
    """No room on the grid's disk for a while, or until its command ends."""
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while file.write(bytes(2**16)):
            pass
    deadline = time.monotonic() + FROZEN_SECONDS
    while grid.process.poll() is None and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    ballast.unlink()


@dataclass
class Broken:
    """How one grid fared."""

    scale: str
    struck: list[str] = field(default_factory=list)
    runs: int = 0
    lost: str = ""
    seconds: float = 0.0


def break_grid(scale: str, faults: Sequence[str], path: Path, chance: random.Random) -> Broken:
    """Strike a new grid with one fault after the other and finish it. It may finish before all of them."""
    result, began, shared = Broken(scale), time.monotonic(), shared_memory()
    grid = Grid(scale, path)
    left, before = list(faults), Finished()
    try:
        grid.start()
        while True:
            if left and grid.wait_for_rows():
                time.sleep(chance.uniform(0, PAUSE_SECONDS))
                before = finished_trials(grid.folder) | before
                if grid.process.poll() is None and strike(left[0], grid, chance):
                    result.struck.append(left.pop(0))
                continue
            grid.wait()
            before = finished_trials(grid.folder) | before
            if grid.is_done():
                break
            grid.start()
        result.lost = loss(grid.folder, before) or grid.leftovers(shared)
    except (TimeoutError, RuntimeError) as error:
        result.lost = str(error)
    finally:
        grid.end()
    result.runs, result.seconds = grid.runs, time.monotonic() - began
    return result


@contextmanager
def small_disk(path: Path) -> Iterator[bool]:
    """A folder on a disk of its own, if this user may mount one; whether it is."""
    path.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(path)]
    mounted = (
        shutil.which("mount") is not None and not subprocess.run(mount, capture_output=True, check=False).returncode
    )
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(path)], check=False)


def plan(count: int, only: Sequence[str], grids: Sequence[str], chance: random.Random) -> list[tuple[str, list[str]]]:
    """Every fault in turn, in random order, shared among grids that have what it breaks."""
    usable = [fault for fault in only if ONLY_IN.get(fault, grids[0]) in grids]
    if not usable:
        raise SystemExit("none of these faults fits these grids")
    faults = [usable[number % len(usable)] for number in range(count)]
    chance.shuffle(faults)
    by_grid: dict[str, list[str]] = {scale: [] for scale in grids}
    for fault in faults:
        by_grid[ONLY_IN.get(fault) or min(grids, key=lambda scale: len(by_grid[scale]))].append(fault)
    return [
        (scale, of[start : start + FAULTS_PER_GRID])
        for scale, of in by_grid.items()
        for start in range(0, len(of), FAULTS_PER_GRID)
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Try the faults and print a table."""
    parser = argparse.ArgumentParser(description="Break small grids in random ways and check that nothing is lost.")
    parser.add_argument("--faults", type=int, default=100, metavar="N", help="how many (default 100)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=FAULTS, default=FAULTS, metavar="FAULT", help=", ".join(FAULTS))
    parser.add_argument("--grids", nargs="+", choices=SCALES, default=list(SCALES), help="default: all of them")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write chaos.csv and the grids' output there")
    arguments = parser.parse_args(argv)
    chance = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory(prefix="chaos-") as scratch:
        with small_disk(Path(scratch) / "try") as can_mount:
            only = [fault for fault in arguments.only if can_mount or fault != "disk full"]
        waiting = plan(arguments.faults, only, arguments.grids, chance)
        chance.shuffle(waiting)
        results: list[Broken] = []
        while waiting:
            scale, faults = waiting.pop(0)
            path = Path(scratch) / str(len(results))
            with small_disk(path):
                result = break_grid(scale, faults, path, chance)
                if arguments.out is not None:
                    _keep(result, f"{arguments.seed}-{len(results)}", path / "log", arguments.out)
            results.append(result)
            words = f"{scale}: {', '.join(result.struck) or 'nothing struck'}: {result.lost or 'survived'}"
            print(f"{words} ({result.runs} runs, {result.seconds:.0f} s)", flush=True)
            if not result.lost and 0 < len(result.struck) < len(faults):
                waiting.append((scale, faults[len(result.struck) :]))
    _print(results)
    return 1 if any(result.lost for result in results) else 0


def _keep(result: Broken, name: str, log: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    table = folder / "chaos.csv"
    is_new = not table.exists()
    with table.open("a", newline="") as file:
        writer = csv.writer(file)
        if is_new:
            writer.writerow(("grid", "scale", "faults", "runs", "seconds", "lost"))
        faults = "; ".join(result.struck)
        writer.writerow((name, result.scale, faults, result.runs, round(result.seconds), result.lost))
    if result.lost:
        shutil.copy(log, folder / f"{name}.log")


def _print(results: Sequence[Broken]) -> None:
    rows = []
    for fault in FAULTS:
        struck = [result for result in results if fault in result.struck]
        tried = sum(result.struck.count(fault) for result in struck)
        bad = [result for result in struck if result.lost]
        survived = tried - sum(result.struck.count(fault) for result in bad)
        if tried:
            rows.append((fault, str(tried), str(survived), "; ".join(result.lost for result in bad)))
    print_table(("fault", "tried", "survived", "lost"), rows, numbers=("tried", "survived"))


if __name__ == "__main__":
    sys.exit(main())

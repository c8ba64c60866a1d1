"""Break small grids in random ways, and check that nothing is lost, repeated or left behind.

    python experiments/chaos.py [--faults 100] [--seed 0] [--only driver trial …] [--out DIR]

Each fault strikes a new grid of three short trials as soon as one has a checkpoint. Then the same command is run until
the grid is finished, and checked: finished trials stay as they were; rows have no gap and no duplicate, in the trial's
file and in MLflow; no process and no shared memory remains; nothing takes longer than `HANGS_SECONDS`. Prints a table
of what was tried and what survived, and exits with status 1 if anything was lost.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil

from bonuslab.platform.pictures.table import print_table
from bonuslab.platform.run.folder import GridFolder, TrialFolder

SCRIPT = Path(__file__).with_name("minihack_grid.py")
MARK = "BONUSLAB_CHAOS"
"""Environment variable by which a grid's processes are recognised."""
STEPS, ROWS = 6_400, 100
HANGS_SECONDS = 120.0
"""Without a new row or another sign of life for so long, a grid hangs."""
FROZEN_SECONDS = 30.0
OPEN_FILES = 256
MOST_RUNS = 4
"""Runs of the same command after the fault; more may be needed only if the fault outlasts the first."""
SMALL = {"num_envs_per_env_runner": 4, "rollout_fragment_length": 16, "num_minibatches": 2, "num_epochs": 1}

# Fault -> part of the command line of the process that is killed.
KILLED = {
    "trial": "ray::",
    "relay": "ray::Relay",
    "tracker": "bonuslab.platform.tracking",
    "raylet": "raylet/raylet",
    "gcs": "gcs_server",
}


class Grid:
    """One grid and the processes of its command."""

    def __init__(self, path: Path, open_files: int | None = None) -> None:
        self.path, self.mark = path, f"{os.getpid()}-{path.name}"
        self._open_files = open_files
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        words = [word for name, value in SMALL.items() for word in ("--set", f"{name}={value}")]
        what = [
            "--scale",
            "smoke",
            "--bonuses",
            "none",
            "rnd",
            "e3b",
            "--steps",
            str(STEPS),
            "--checkpoint-every",
            "640",
        ]
        limit = self._open_files

        def few_files() -> None:
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))

        with self.path.with_suffix(".log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, str(SCRIPT), *what, *words, "--address", "local", "--out", str(self.path)],
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=few_files,
                env=os.environ | {MARK: self.mark, "OMP_NUM_THREADS": "1"},
            )

    @property
    def folder(self) -> GridFolder:
        """The grid's files."""
        return GridFolder(self.path)

    def processes(self) -> Iterator[psutil.Process]:
        """All processes of this grid, however they were started."""
        for process in psutil.process_iter():
            try:
                if process.environ().get(MARK) == self.mark and process.status() != psutil.STATUS_ZOMBIE:
                    yield process
            except psutil.Error:
                continue

    def has_checkpoint(self) -> bool:
        """Whether a trial has a checkpoint, or the command has ended."""
        if self.process.poll() is not None:
            return True
        return (self.path / "grid.json").exists() and any(trial.state().checkpoints for trial in self.folder.trials())

    def wait(self) -> None:
        """Until the command ends; `TimeoutError` if nothing happens for long."""
        seen, since = None, time.monotonic()
        while self.process.poll() is None:
            now = [
                path.stat().st_mtime_ns for path in (self.path.with_suffix(".log"), *self.path.rglob("progress.csv"))
            ]
            if now != seen:
                seen, since = now, time.monotonic()
            if time.monotonic() - since > HANGS_SECONDS:
                raise TimeoutError(f"nothing happened for {HANGS_SECONDS:.0f} s")
            time.sleep(0.2)

    def again(self) -> None:
        """Run the same command until the grid is finished."""
        self._open_files = None
        for _ in range(MOST_RUNS):
            self.process = self._start()
            self.wait()
            if self.process.returncode == 0:
                return
        raise RuntimeError(f"not finished after {MOST_RUNS} more runs, see {self.path.with_suffix('.log')}")


def strike(fault: str, grid: Grid, chance: random.Random) -> None:
    """Do what the fault's name says."""
    if fault == "driver":
        grid.process.kill()
    elif fault == "terminated":
        os.killpg(grid.process.pid, signal.SIGTERM)
    elif fault == "frozen":
        victims = list(grid.processes())
        victim = chance.choice(victims)
        victim.suspend()
        time.sleep(FROZEN_SECONDS)
        victim.resume()
    elif fault == "database deleted":
        for file in grid.path.glob("mlflow.db*"):
            file.unlink()
    elif fault == "database damaged":
        with (grid.path / "mlflow.db").open("r+b") as store_file:
            store_file.write(chance.randbytes(4_096))
    elif fault == "database locked":
        with sqlite3.connect(grid.path / "mlflow.db", timeout=60) as store:
            store.execute("begin exclusive")
            time.sleep(FROZEN_SECONDS)
    elif fault in KILLED:
        text = KILLED[fault]
        found = [each for each in grid.processes() if text in " ".join(each.cmdline() or [each.name()])]
        if found:
            chance.choice(found).kill()


FAULTS = (
    *("driver", *KILLED, "terminated", "frozen"),
    *("database deleted", "database damaged", "database locked", "few files"),
)


def try_fault(fault: str, path: Path, chance: random.Random) -> str:
    """Break a new grid; what was lost, in words, or nothing."""
    shared = _shared_memory()
    grid = Grid(path, OPEN_FILES if fault == "few files" else None)
    try:
        _wait_for(grid.has_checkpoint)
        before = {trial.id: trial.rows() for trial in _finished(grid)}
        strike(fault, grid, chance)
        grid.wait()
        grid.again()
        return _loss(grid, before) or _leftovers(grid, shared)
    except (TimeoutError, RuntimeError) as error:
        return str(error)
    finally:
        for process in grid.processes():
            process.kill()


def _finished(grid: Grid) -> list[TrialFolder]:
    if not (grid.path / "grid.json").exists():
        return []
    return [trial for trial in grid.folder.trials() if trial.state().status == "finished"]


def _loss(grid: Grid, before: dict[str, Any]) -> str:
    expected = [STEPS // ROWS * number for number in range(1, ROWS + 1)]
    with sqlite3.connect(grid.path / "mlflow.db") as store:
        tracked: dict[str, list[int]] = {}
        for name, step in store.execute(
            "select r.name, m.step from metrics m join runs r on r.run_uuid = m.run_uuid "
            "where r.lifecycle_stage = 'active' and m.key = 'env_steps'"
        ):
            tracked.setdefault(name, []).append(step)
    for trial in grid.folder.trials():
        if trial.state().status != "finished":
            return f"{trial.id} is {trial.state().status}"
        steps = trial.rows()["env_steps"].tolist()
        if steps != expected:
            return f"{trial.id} has {len(steps)} rows, {len(set(steps))} of them different, instead of {ROWS}"
        if trial.id in before and not trial.rows().equals(before[trial.id]):
            return f"{trial.id} was finished and was trained again"
    counts = Counter(len(steps) for steps in tracked.values())
    if tracked and counts != Counter({ROWS: len(grid.folder.trials())}):
        return f"MLflow has {sorted(counts.elements())} points of {ROWS} rows"
    return ""


def _leftovers(grid: Grid, shared: set[str]) -> str:
    deadline = time.monotonic() + 20
    while (left := [process.name() for process in grid.processes()]) and time.monotonic() < deadline:
        time.sleep(0.5)
    if left:
        return f"{len(left)} processes remain: {', '.join(sorted(set(left)))}"
    more = [name for name in _shared_memory() - shared if _abandoned(Path("/dev/shm") / name)]
    return f"/dev/shm keeps {', '.join(sorted(more))}" if more else ""


def _shared_memory() -> set[str]:
    return set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()


def _abandoned(path: Path) -> bool:
    """Whether no living process holds a folder of games; other programs' folders may come and go."""
    try:
        with (path / "alive").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 5 * HANGS_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the grid did not begin")
        time.sleep(0.05)


def main(argv: Sequence[str] | None = None) -> int:
    """Try the faults and print a table."""
    parser = argparse.ArgumentParser(description="Break small grids in random ways and check that nothing is lost.")
    parser.add_argument("--faults", type=int, default=100, metavar="N", help="how many (default 100)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=FAULTS, default=FAULTS, metavar="FAULT", help=", ".join(FAULTS))
    parser.add_argument("--out", type=Path, metavar="DIR", help="keep the grids there (default: a temporary folder)")
    arguments = parser.parse_args(argv)
    chance = random.Random(arguments.seed)
    out = arguments.out or Path(tempfile.mkdtemp(prefix="chaos-"))
    out.mkdir(parents=True, exist_ok=True)
    tried: Counter[str] = Counter()
    lost: dict[str, list[str]] = {}
    for number in range(arguments.faults):
        # Every kind in turn, in an order that changes from round to round.
        fault = (
            arguments.only[number % len(arguments.only)]
            if number < len(arguments.only)
            else chance.choice(arguments.only)
        )
        started = time.monotonic()
        found = try_fault(fault, out / f"{number:03}-{fault.replace(' ', '-')}", chance)
        tried[fault] += 1
        if found:
            lost.setdefault(fault, []).append(found)
        print(
            f"{number + 1} of {arguments.faults}: {fault}: {found or 'survived'} ({time.monotonic() - started:.0f} s)",
            flush=True,
        )
    rows = [
        (name, str(count), str(count - len(lost.get(name, []))), "; ".join(lost.get(name, [])))
        for name, count in tried.items()
    ]
    print_table(("fault", "tried", "survived", "lost"), rows, numbers=("tried", "survived"))
    if arguments.out is None and not lost:
        shutil.rmtree(out)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())

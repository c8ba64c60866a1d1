"""Break small grids in random ways, and check that nothing is lost, repeated or left behind.

    python experiments/chaos.py [--faults 100] [--seed 0] [--only driver trial …] [--grids serial …] [--out DIR]

Each grid (`chaos_grids.py`) gets several faults (`chaos_faults.py`), one after the other; whenever its command ends
early, it is run again as it was. The finished grid is checked (`chaos_checks.py`): trials that were finished before a
fault stay as they were; rows have no gap and no duplicate, in the trial's file and in MLflow; no process, no shared
memory and no temporary file remains; nothing hangs for longer than `HANGS_SECONDS` (`chaos_command.py`). Prints a table
of what was tried and what survived; exits with status 1 if anything was lost. With `--out`, adds a line per grid to
chaos.csv there, keeps the output and folder of grids that lost something, and prints the table of all lines there: with
another seed each time, 100 faults may take several sittings.

Grids resume only on the code they began with: do not edit or commit while they run. `disk full` is left out if this
user may not mount a small file system.
"""

from __future__ import annotations

import argparse
import csv
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bonuslab.envs.errors import InvalidInput
from bonuslab.experiments.chaos_checks import Finished, finished_trials, loss, shared_memory
from bonuslab.experiments.chaos_command import Grid
from bonuslab.experiments.chaos_faults import FAULTS, ONLY_IN, strike
from bonuslab.experiments.chaos_grids import SCALES
from bonuslab.platform.pictures.table import print_table
from bonuslab.platform.run.versions import git_commit

PAUSE_SECONDS = 1.5
"""Longest pause between new rows and the next fault."""
DISK = "128m"
FAULTS_PER_GRID = 10


@dataclass
class Broken:
    """How one grid fared."""

    scale: str
    struck: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """Faults for which the grid was finished too early."""
    runs: int = 0
    lost: str = ""
    seconds: float = 0.0


def break_grid(scale: str, faults: Sequence[str], path: Path, chance: random.Random) -> Broken:
    """Strike a new grid with one fault after the other and finish it. It may finish before all of them."""
    result, began, shared = Broken(scale, left=list(faults)), time.monotonic(), shared_memory()
    grid = Grid(scale, path)
    left, before = result.left, Finished()
    try:
        grid.start()
        while True:
            if left and grid.wait_for_rows():
                time.sleep(chance.uniform(0, PAUSE_SECONDS))
                before = finished_trials(grid.folder) | before
                if grid.process.poll() is None:
                    struck = next((fault for fault in left if strike(fault, grid, chance)), None)
                    if struck is not None:
                        left.remove(struck)
                        result.struck.append(struck)
                        grid.note(struck)
                continue
            grid.wait()
            before = finished_trials(grid.folder) | before
            if grid.is_done():
                break
            grid.start()
        result.lost = loss(grid.folder, before) or grid.leftovers(shared)
    except (OSError, RuntimeError, InvalidInput) as error:
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
    parser.add_argument("--minutes", type=float, default=float("inf"), metavar="M", help="start no grid after this")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write chaos.csv and the grids' output there")
    arguments = parser.parse_args(argv)
    chance = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory(prefix="chaos-") as scratch:
        with small_disk(Path(scratch) / "try") as can_mount:
            only = [fault for fault in arguments.only if can_mount or fault != "disk full"]
        waiting = plan(arguments.faults, only, arguments.grids, chance)
        chance.shuffle(waiting)
        results: list[Broken] = []
        end = time.monotonic() + 60 * arguments.minutes
        while waiting and time.monotonic() < end:
            scale, faults = waiting.pop(0)
            path = Path(scratch) / str(len(results))
            with small_disk(path):
                result = break_grid(scale, faults, path, chance)
                if arguments.out is not None:
                    _keep(result, f"{arguments.seed}-{len(results)}", path, arguments.out)
            results.append(result)
            words = f"{scale}: {', '.join(result.struck) or 'nothing struck'}: {result.lost or 'survived'}"
            print(f"{words} ({result.runs} runs, {result.seconds:.0f} s)", flush=True)
            if result.struck and result.left:
                waiting.append((scale, result.left))
    _print(results if arguments.out is None else _kept(arguments.out))
    return 1 if any(result.lost for result in results) else 0


def _keep(result: Broken, name: str, path: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    table = folder / "chaos.csv"
    is_new = not table.exists()
    with table.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(("grid", "scale", "faults", "runs", "seconds", "lost", "commit"))
        faults = "; ".join(result.struck)
        line = (name, result.scale, faults, result.runs, round(result.seconds), result.lost)
        writer.writerow((*line, (git_commit() or "unknown")[:7]))
    if result.lost:
        shutil.copy(path.with_suffix(".log"), folder / f"{name}.log")
        if (path / "grid").is_dir():
            shutil.copytree(path / "grid", folder / name, dirs_exist_ok=True)


def _kept(folder: Path) -> list[Broken]:
    with (folder / "chaos.csv").open(newline="") as file:
        return [
            Broken(row["scale"], list(filter(None, row["faults"].split("; "))), lost=row["lost"])
            for row in csv.DictReader(file)
        ]


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

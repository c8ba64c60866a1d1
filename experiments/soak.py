"""Does a long run leak memory? Trains with `--resources laptop` and watches every process of the run.

    python experiments/soak.py [TASK] [--bonus TEXT] [--minutes 30]

Prints every minute the resident memory of each role and, in brackets, the private part of it, in MB. Ends with the
growth of private memory from the first third of the time to the last, and each role's CPU use: raylet and gcs only
pass messages and should be close to idle. Exit status 1: memory has grown or training has failed.

Results to expect (2 cores with other load, 30 minutes, 2.15 million steps), private memory of the first and last ten
minutes: driver and learner 445 → 465 MB (+4.5 %: 427 in the first minute, 454 in the tenth, 450 to 476 in the last
ten), runner 459 → 463, bonus 500 → 474, raylet and gcs 325 → 335.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean

from bonuslab.envs.errors import InvalidInput
from bonuslab.experiments.benchmarks.process_memory import PROC, ROLES, Usage, usage_by_role
from bonuslab.platform.run.find import find
from bonuslab.platform.run.rows import STEPS

Sample = Mapping[str, Usage]
SAMPLE_SECONDS = 5.0
TOLERANCE = 0.05
"""Relative growth from the first to the last third that still counts as flat."""
STOP_TIMEOUT_SECONDS = 60.0
ENDLESS_STEPS = 10**12
"""The clock ends the run."""


@dataclass(frozen=True)
class Growth:
    """Private memory of one role: means over the first and the last third of the samples."""

    first_mb: float
    last_mb: float

    @classmethod
    def of(cls, values_mb: Sequence[float]) -> Growth:
        """From three or more samples taken at equal intervals."""
        third = len(values_mb) // 3
        return cls(fmean(values_mb[:third]), fmean(values_mb[-third:]))

    @property
    def share(self) -> float:
        """Relative growth."""
        return self.last_mb / self.first_mb - 1

    @property
    def flat(self) -> bool:
        """Whether growth is within the tolerance; shrinking is flat too."""
        return self.share <= TOLERANCE


@dataclass(frozen=True)
class Run:
    """A run of `bonuslab train` in its own process."""

    process: subprocess.Popen
    folder: Path

    @property
    def steps(self) -> int:
        """Environment steps so far; 0 before the first update."""
        try:
            rows = find(self.folder).require_trial().rows()
        except InvalidInput:  # not written yet
            return 0
        return 0 if rows.empty else int(rows[STEPS].iloc[-1])

    @property
    def is_running(self) -> bool:
        """Whether training is still running."""
        return self.process.poll() is None


def main(argv: Sequence[str] | None = None) -> int:
    """Train, watch, report."""
    parser = argparse.ArgumentParser(description="Watch the memory of a long run.")
    parser.add_argument("task", nargs="?", default="MultiRoom-N6-Lava", help="default: MultiRoom-N6-Lava")
    parser.add_argument("--bonus", default="e3b * rnd", metavar="TEXT", help='default: "e3b * rnd"')
    parser.add_argument("--minutes", type=float, default=30.0, help="from the first update (default 30)")
    arguments = parser.parse_args(argv)
    if arguments.minutes * 60 < 3 * SAMPLE_SECONDS:
        parser.error(f"--minutes must be at least {3 * SAMPLE_SECONDS / 60:g}: one sample per third")
    if not (PROC / "self" / "smaps_rollup").exists():
        parser.error("this needs /proc/<pid>/smaps_rollup, which only Linux has")
    with training(arguments.task, arguments.bonus) as run:
        samples = watch(run, arguments.minutes * 60)
        if not run.is_running:
            print(f"training exited with status {run.process.returncode}", file=sys.stderr)
            return run.process.returncode or 1
    return report(samples)


@contextmanager
def training(task: str, bonus: str) -> Iterator[Run]:
    """A run in a temporary folder, stopped at the end."""
    with tempfile.TemporaryDirectory(prefix="bonuslab-soak-") as folder:
        out = Path(folder) / "run"
        words = ["train", task, "--bonus", bonus, "--resources", "laptop", "--out", str(out)]
        words += ["--steps", str(ENDLESS_STEPS), "--evaluate-every", "0"]
        # In a new session, so that Ctrl-C reaches only this program, which then stops the run cleanly.
        process = subprocess.Popen(
            [sys.executable, "-m", "bonuslab.platform.cli.main", *words],
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            yield Run(process, out)
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(STOP_TIMEOUT_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def watch(run: Run, seconds: float) -> list[Sample]:
    """Sample at equal intervals from the first update; print a line every minute."""
    print("waiting for the first update", flush=True)
    while run.is_running and not run.steps:
        time.sleep(1)
    samples: list[Sample] = []
    per_minute = round(60 / SAMPLE_SECONDS)
    while run.is_running and len(samples) < seconds / SAMPLE_SECONDS:
        time.sleep(SAMPLE_SECONDS)
        samples.append(usage_by_role(run.process.pid))
        if len(samples) % per_minute == 0:
            print(line(len(samples) // per_minute, run.steps, samples[-per_minute:]), flush=True)
    return samples


def line(minute: int, steps: int, samples: Sequence[Sample]) -> str:
    """Means over one minute, as a line of text."""
    parts = [f"{minute:4d} min {steps:11,} steps"]
    for role in ROLES:
        resident, private = (fmean(values(samples, role, name)) for name in ("resident_mb", "anonymous_mb"))
        parts.append(f"{role} {resident:,.0f} ({private:,.0f})")
    return "  ".join(parts)


def report(samples: Sequence[Sample]) -> int:
    """Print growth and CPU use by role; 1 if any role grew."""
    print(f"private memory, first third → last third; up to {TOLERANCE:+.0%} counts as flat")
    all_flat = True
    for role in ROLES:
        growth = Growth.of(values(samples, role, "anonymous_mb"))
        all_flat &= growth.flat
        print(
            f"  {role:<15} {growth.first_mb:7,.0f} → {growth.last_mb:5,.0f} MB  {growth.share:+6.1%}"
            f"  {'flat ' if growth.flat else 'GROWS'}  CPU {cpu_share(values(samples, role, 'cpu_seconds')):4.0%}"
        )
    return 0 if all_flat else 1


def values(samples: Sequence[Sample], role: str, name: str) -> list[float]:
    """One quantity of a role over time; 0 while it has no process."""
    return [getattr(sample.get(role, Usage()), name) for sample in samples]


def cpu_share(cpu_seconds: Sequence[float]) -> float:
    """Cores used on average. When a process exits, the sum drops by its time; drops are ignored."""
    used = sum(max(0.0, after - before) for before, after in pairwise(cpu_seconds))
    return used / (SAMPLE_SECONDS * (len(cpu_seconds) - 1))


if __name__ == "__main__":
    sys.exit(main())

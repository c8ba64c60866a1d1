"""Does a long run keep its memory? Trains with the laptop's resources and watches every process of the run.

    python experiments/soak.py [TASK] [--bonus TEXT] [--minutes 30]

Every minute prints for each role the memory in RAM and, in brackets, the part that belongs to its processes alone, in
MB. At the end come the growth of that part from the first third of the time to the last, and each role's CPU use:
raylet and gcs only pass messages and should be close to idle. Exit status 1 says that memory has grown or training
has failed.

Results to expect: on 2 cores with other work, 30 minutes and 2.15 million steps, private memory of the first and last
ten minutes: driver and learner 445 → 465 MB (+4.5 %: 427 in the first minute, 454 in
the tenth, 450 to 476 in the last ten), runner 459 → 463, bonus
500 → 474, raylet and gcs 325 → 335.
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

from bonuslab.experiments.benchmarks.process_memory import PROC, ROLES, Usage, usage_by_role
from bonuslab.platform.run.rows import STEPS, read_rows

Sample = Mapping[str, Usage]
SAMPLE_SECONDS = 5.0
TOLERANCE = 0.05
"""Growth from the first to the last third that still counts as flat, as a share of the first."""
PATIENCE_SECONDS = 60.0
"""How long training may take to stop."""
WITHOUT_END = 10**12
"""Steps; the clock ends the run."""


@dataclass(frozen=True)
class Growth:
    """The private memory of one role: means over the first and the last third of the samples."""

    first_mb: float
    last_mb: float

    @classmethod
    def of(cls, values_mb: Sequence[float]) -> Growth:
        """From three or more samples taken at equal intervals."""
        third = len(values_mb) // 3
        return cls(fmean(values_mb[:third]), fmean(values_mb[-third:]))

    @property
    def share(self) -> float:
        """Growth as a share of what there was."""
        return self.last_mb / self.first_mb - 1

    @property
    def flat(self) -> bool:
        """Whether it grew no more than the tolerance allows; less than before is flat too."""
        return self.share <= TOLERANCE


@dataclass(frozen=True)
class Run:
    """A run of `bonuslab train` in a process of its own."""

    process: subprocess.Popen
    folder: Path

    @property
    def steps(self) -> int:
        """Environment steps so far; 0 before the first update."""
        rows = [row for table in self.folder.glob("trials/*/progress.csv") for row in read_rows(table)]
        return int(rows[-1][STEPS]) if rows else 0

    @property
    def going(self) -> bool:
        """Whether training goes on."""
        return self.process.poll() is None


def main(argv: Sequence[str] | None = None) -> int:
    """Train, watch, judge."""
    parser = argparse.ArgumentParser(description="Watch the memory of a long run.")
    parser.add_argument("task", nargs="?", default="MultiRoom-N6-Lava", help="default: MultiRoom-N6-Lava")
    parser.add_argument("--bonus", default="e3b * rnd", metavar="TEXT", help='default: "e3b * rnd"')
    parser.add_argument("--minutes", type=float, default=30.0, help="from the first update on (default 30)")
    arguments = parser.parse_args(argv)
    if arguments.minutes * 60 < 3 * SAMPLE_SECONDS:
        parser.error(f"--minutes must be at least {3 * SAMPLE_SECONDS / 60:g}, a sample in every third")
    if not (PROC / "self" / "smaps_rollup").exists():
        parser.error("memory is read from /proc/<pid>/smaps_rollup, which only Linux has")
    with training(arguments.task, arguments.bonus) as run:
        samples = watch(run, arguments.minutes * 60)
        if not run.going:
            print(f"training has ended by itself with status {run.process.returncode}", file=sys.stderr)
            return run.process.returncode or 1
    return report(samples)


@contextmanager
def training(task: str, bonus: str) -> Iterator[Run]:
    """A run in a temporary folder, stopped at the end."""
    with tempfile.TemporaryDirectory(prefix="bonuslab-soak-") as folder:
        out = Path(folder) / "run"
        words = ["train", task, "--bonus", bonus, "--resources", "laptop", "--out", str(out)]
        words += ["--steps", str(WITHOUT_END), "--evaluate-every", "0"]
        # A session of its own, so that Ctrl-C reaches this program alone, which then stops the run in good order.
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
                process.wait(PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def watch(run: Run, seconds: float) -> list[Sample]:
    """Samples at equal intervals from the first update on, with a line printed every minute."""
    print("waiting for the first update", flush=True)
    while run.going and not run.steps:
        time.sleep(1)
    samples: list[Sample] = []
    a_minute = round(60 / SAMPLE_SECONDS)
    while run.going and len(samples) < seconds / SAMPLE_SECONDS:
        time.sleep(SAMPLE_SECONDS)
        samples.append(usage_by_role(run.process.pid))
        if len(samples) % a_minute == 0:
            print(line(len(samples) // a_minute, run.steps, samples[-a_minute:]), flush=True)
    return samples


def line(minute: int, steps: int, samples: Sequence[Sample]) -> str:
    """One minute's means."""
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
    """One number of a role over time; 0 while it has no process."""
    return [getattr(sample.get(role, Usage()), name) for sample in samples]


def cpu_share(cpu_seconds: Sequence[float]) -> float:
    """Cores used on average; a process that has ended takes its time out of the sum, which does not count."""
    used = sum(max(0.0, after - before) for before, after in pairwise(cpu_seconds))
    return used / (SAMPLE_SECONDS * (len(cpu_seconds) - 1))


if __name__ == "__main__":
    sys.exit(main())

"""Does a long run leak memory or files? Trains with `--resources laptop` and watches every process of the run.

    python experiments/soak.py [TASK] [--bonus TEXT] [--minutes 120] [--out DIR]

Prints every minute the resident memory of each process and, in brackets, the private part of it, in MB. Ends with each
process's private memory and open files in the second and in the last quarter of the time, and its CPU use: raylet and
gcs only pass messages and should be close to idle. With `--out`, keeps the curve there (soak.csv, soak.png).
Exit status 1: memory or open files have grown, or training has failed.
"""

from __future__ import annotations

import argparse
import csv
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from matplotlib.figure import Figure

from bonuslab.envs.errors import InvalidInput
from bonuslab.experiments.benchmarks.process_memory import PROC, Usage, usage_by_process
from bonuslab.platform.run.find import find
from bonuslab.platform.run.rows import STEPS

Process = tuple[int, str]
"""Process id and name."""
Sample = Mapping[Process, Usage]
SAMPLE_SECONDS = 5.0
PER_MINUTE = round(60 / SAMPLE_SECONDS)
QUARTERS = 4
TOLERANCE = 0.02
"""Relative growth from the second to the last quarter that still counts as flat."""
STOP_TIMEOUT_SECONDS = 60.0
ENDLESS_STEPS = 10**12
"""The clock ends the run."""


@dataclass(frozen=True)
class Growth:
    """One quantity of one process: means over the second and the last quarter of the samples."""

    second: float
    last: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Growth:
        """From four or more samples taken at equal intervals."""
        quarter = len(values) // QUARTERS
        return cls(fmean(values[quarter : 2 * quarter]), fmean(values[-quarter:]))

    @property
    def share(self) -> float:
        """Relative growth."""
        return self.last / self.second - 1 if self.second else 0.0

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
    parser.add_argument("--minutes", type=float, default=120.0, help="from the first update (default 120)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="keep the curve there")
    arguments = parser.parse_args(argv)
    if arguments.minutes * 60 < QUARTERS * SAMPLE_SECONDS:
        parser.error(f"--minutes must be at least {QUARTERS * SAMPLE_SECONDS / 60:.2g}: one sample per quarter")
    if not (PROC / "self" / "smaps_rollup").exists():
        parser.error("this needs /proc/<pid>/smaps_rollup, which only Linux has")
    with training(arguments.task, arguments.bonus) as run:
        samples = watch(run, arguments.minutes * 60)
        if not run.is_running:
            print(f"training exited with status {run.process.returncode}", file=sys.stderr)
            return run.process.returncode or 1
    if arguments.out is not None:
        keep(samples, arguments.out)
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
    began = time.monotonic()
    while run.is_running and len(samples) < seconds / SAMPLE_SECONDS:
        # By the clock: on a busy machine a sample itself takes seconds.
        time.sleep(max(0.0, began + SAMPLE_SECONDS * (len(samples) + 1) - time.monotonic()))
        samples.append(usage_by_process(run.process.pid))
        if len(samples) % PER_MINUTE == 0:
            print(line(len(samples) // PER_MINUTE, run.steps, samples[-PER_MINUTE:]), flush=True)
    return samples


def lasting(samples: Sequence[Sample]) -> list[Process]:
    """The processes that are in all samples; Ray starts and stops idle workers at will."""
    return sorted(set(samples[0]).intersection(*samples[1:]))


def line(minute: int, steps: int, samples: Sequence[Sample]) -> str:
    """Means over one minute, as a line of text."""
    parts = [f"{minute:4d} min {steps:11,} steps"]
    for process in lasting(samples):
        resident, private = (fmean(values(samples, process, name)) for name in ("resident_mb", "anonymous_mb"))
        parts.append(f"{process[1]} {resident:,.0f} ({private:,.0f})")
    return "  ".join(parts)


def report(samples: Sequence[Sample]) -> int:
    """Print each process's growth and CPU use; 1 if any has grown."""
    print(f"private memory and open files, second quarter → last quarter; up to {TOLERANCE:+.0%} counts as flat")
    all_flat = True
    for process in lasting(samples):
        memory, files = (Growth.of(values(samples, process, name)) for name in ("anonymous_mb", "open_files"))
        flat = memory.flat and files.flat
        all_flat &= flat
        print(
            f"  {process[1]:<15} {memory.second:7,.1f} → {memory.last:7,.1f} MB  {memory.share:+6.1%}"
            f"  {files.second:5.1f} → {files.last:5.1f} files  {'flat ' if flat else 'GROWS'}"
            f"  CPU {cpu_share(values(samples, process, 'cpu_seconds')):4.0%}"
        )
    return 0 if all_flat else 1


def keep(samples: Sequence[Sample], folder: Path) -> None:
    """Write the curve, one row per minute and process, and draw it."""
    folder.mkdir(parents=True, exist_ok=True)
    minutes = range(0, len(samples) - PER_MINUTE + 1, PER_MINUTE)
    figure = Figure(figsize=(9, 6), layout="constrained")
    memory, files = figure.subplots(2, sharex=True)
    with (folder / "soak.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("minute", "process", "resident_mb", "private_mb", "open_files"))
        for process in lasting(samples):
            rows = [
                [
                    round(fmean(values(samples[start : start + PER_MINUTE], process, name)), 2)
                    for name in ("resident_mb", "anonymous_mb", "open_files")
                ]
                for start in minutes
            ]
            writer.writerows((number, process[1], *row) for number, row in enumerate(rows, 1))
            memory.plot(range(1, len(rows) + 1), [row[1] for row in rows], label=process[1])
            files.plot(range(1, len(rows) + 1), [row[2] for row in rows], label=process[1])
    memory.set(ylabel="private memory (MB)", ylim=(0, None))
    files.set(ylabel="open files", xlabel="minutes of training", ylim=(0, None))
    figure.legend(*memory.get_legend_handles_labels(), loc="outside right upper", fontsize="small")
    figure.savefig(folder / "soak.png", dpi=100)


def values(samples: Sequence[Sample], process: Process, name: str) -> list[float]:
    """One quantity of a process over time."""
    return [getattr(sample[process], name) for sample in samples]


def cpu_share(cpu_seconds: Sequence[float]) -> float:
    """Cores used on average."""
    return (cpu_seconds[-1] - cpu_seconds[0]) / (SAMPLE_SECONDS * (len(cpu_seconds) - 1))


if __name__ == "__main__":
    sys.exit(main())

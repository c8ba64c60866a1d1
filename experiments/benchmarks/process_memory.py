"""Memory, CPU time and open files of a training run by process or role, read from Linux's /proc."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
DRIVER, RUNNER, BONUS, RAY, IDLE = "driver+learner", "runner", "bonus", "raylet+gcs", "idle workers"
_TITLES = {"ray::FragmentRunner": RUNNER, "ray::SharedBonus": BONUS, "ray::IDLE": IDLE}
"""Prefixes of the process titles that Ray sets."""


@dataclass(frozen=True)
class Usage:
    """Resources used by one or more processes."""

    resident_mb: float = 0.0
    """Resident memory, including shared libraries and Ray's object store."""
    anonymous_mb: float = 0.0
    """The private part of it: heap and stacks, where leaks show."""
    cpu_seconds: float = 0.0
    """Since the processes started."""
    open_files: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.resident_mb + other.resident_mb,
            self.anonymous_mb + other.anonymous_mb,
            self.cpu_seconds + other.cpu_seconds,
            self.open_files + other.open_files,
        )


def usage_by_role(driver: int, proc: Path = PROC) -> dict[str, Usage]:
    """Current usage of the run with this driver process; roles without a process are left out."""
    totals: dict[str, Usage] = {}
    for pid, command, usage in _usages(driver, proc):
        role = DRIVER if pid == driver else role_of(command)
        totals[role] = totals.get(role, Usage()) + usage
    return totals


def usage_by_process(driver: int, proc: Path = PROC) -> dict[tuple[int, str], Usage]:
    """Current usage of each process of the run, by process id and name."""
    return {
        (pid, DRIVER if pid == driver else name_of(command)): usage for pid, command, usage in _usages(driver, proc)
    }


def _usages(driver: int, proc: Path) -> Iterator[tuple[int, str, Usage]]:
    for pid in descendants(driver, proc):
        try:
            yield pid, (proc / str(pid) / "cmdline").read_text(), _usage(proc / str(pid))
        except (FileNotFoundError, ProcessLookupError):
            continue  # exited since it was listed


def descendants(root: int, proc: Path = PROC) -> list[int]:
    """The process `root` and all its running descendants."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in proc.iterdir():
        if entry.name.isdigit():
            try:
                children[int(_stat(entry)[1])].append(int(entry.name))
            except (FileNotFoundError, ProcessLookupError):
                continue
    found = [root]
    for pid in found:  # grows during iteration
        found += children[pid]
    return found


def tree_cpu_seconds(root: int, proc: Path = PROC) -> float:
    """CPU time of a process and all its descendants, with those that have ended and were waited for."""
    total = 0
    for pid in descendants(root, proc):
        try:
            total += sum(map(int, _stat(proc / str(pid))[11:15]))  # user, system, and both of ended children
        except (FileNotFoundError, ProcessLookupError):
            continue
    return total / os.sysconf("SC_CLK_TCK")


def peak_mb(pid: int, proc: Path = PROC) -> float:
    """The most resident memory that a process has had."""
    line = next(line for line in (proc / str(pid) / "status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def role_of(command: str) -> str:
    """The role of a descendant of the driver."""
    return next((role for title, role in _TITLES.items() if command.startswith(title)), RAY)


def name_of(command: str) -> str:
    """The role of a descendant of the driver, or the program or script it runs."""
    if (role := role_of(command)) != RAY:
        return role
    program, *words = command.rstrip("\0").split("\0")
    scripts = [word for word in words if word.endswith(".py")] if "python" in Path(program).name else []
    return Path((scripts or [program.split(" ")[0]])[0]).stem


def _usage(folder: Path) -> Usage:
    fields = dict(line.split(":", 1) for line in (folder / "smaps_rollup").read_text().splitlines()[1:])
    resident, anonymous = (int(fields[name].split()[0]) / 1024 for name in ("Rss", "Anonymous"))
    user, system = (int(ticks) / os.sysconf("SC_CLK_TCK") for ticks in _stat(folder)[11:13])
    return Usage(resident, anonymous, user + system, len(os.listdir(folder / "fd")))


def _stat(folder: Path) -> list[str]:
    """Fields of /proc/<pid>/stat after the program name, which may contain spaces: state, parent, …"""
    return (folder / "stat").read_text().rpartition(")")[2].split()

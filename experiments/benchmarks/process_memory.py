"""Memory and CPU time of a training run by process role, read from Linux's /proc."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
DRIVER, RUNNER, BONUS, RAY, IDLE = "driver+learner", "runner", "bonus", "raylet+gcs", "idle workers"
ROLES = (DRIVER, RUNNER, BONUS, RAY)
"""Roles with a process from the first update to the last; Ray starts and stops idle workers at will."""
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

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.resident_mb + other.resident_mb,
            self.anonymous_mb + other.anonymous_mb,
            self.cpu_seconds + other.cpu_seconds,
        )


def usage_by_role(driver: int, proc: Path = PROC) -> dict[str, Usage]:
    """Current usage of the run with this driver process; roles without a process are left out."""
    totals: dict[str, Usage] = {}
    for pid in descendants(driver, proc):
        try:
            role = DRIVER if pid == driver else role_of((proc / str(pid) / "cmdline").read_text())
            totals[role] = totals.get(role, Usage()) + _usage(proc / str(pid))
        except (FileNotFoundError, ProcessLookupError):
            continue  # exited since it was listed
    return totals


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


def role_of(command: str) -> str:
    """The role of a descendant of the driver."""
    return next((role for title, role in _TITLES.items() if command.startswith(title)), RAY)


def _usage(folder: Path) -> Usage:
    fields = dict(line.split(":", 1) for line in (folder / "smaps_rollup").read_text().splitlines()[1:])
    resident, anonymous = (int(fields[name].split()[0]) / 1024 for name in ("Rss", "Anonymous"))
    user, system = (int(ticks) / os.sysconf("SC_CLK_TCK") for ticks in _stat(folder)[11:13])
    return Usage(resident, anonymous, user + system)


def _stat(folder: Path) -> list[str]:
    """Fields of /proc/<pid>/stat after the program name, which may contain spaces: state, parent, …"""
    return (folder / "stat").read_text().rpartition(")")[2].split()

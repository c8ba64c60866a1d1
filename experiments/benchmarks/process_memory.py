"""Memory and CPU time of a training run by the role of its processes, read from Linux's /proc."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
DRIVER, RUNNER, BONUS, RAY, IDLE = "driver+learner", "runner", "bonus", "raylet+gcs", "idle workers"
ROLES = (DRIVER, RUNNER, BONUS, RAY)
"""Those that a run has from its first update to its last; Ray starts and ends idle workers as it likes."""
_TITLES = {"ray::FragmentRunner": RUNNER, "ray::SharedBonus": BONUS, "ray::IDLE": IDLE}
"""How the titles begin that Ray gives its workers."""


@dataclass(frozen=True)
class Usage:
    """What one process or several together use."""

    resident_mb: float = 0.0
    """Memory in RAM, shared libraries and Ray's object store included."""
    anonymous_mb: float = 0.0
    """The part of it that belongs to the process alone: heap and stacks. A leak shows here."""
    cpu_seconds: float = 0.0
    """Since the processes began."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.resident_mb + other.resident_mb,
            self.anonymous_mb + other.anonymous_mb,
            self.cpu_seconds + other.cpu_seconds,
        )


def usage_by_role(driver: int, proc: Path = PROC) -> dict[str, Usage]:
    """What the run with this driver process uses now; roles without a process are left out."""
    totals: dict[str, Usage] = {}
    for pid in descendants(driver, proc):
        try:
            role = DRIVER if pid == driver else role_of((proc / str(pid) / "cmdline").read_text())
            totals[role] = totals.get(role, Usage()) + _usage(proc / str(pid))
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended since it was listed
    return totals


def descendants(root: int, proc: Path = PROC) -> list[int]:
    """The process `root` and all that it and its children have started and that still run."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in proc.iterdir():
        if entry.name.isdigit():
            try:
                children[int(_stat(entry)[1])].append(int(entry.name))
            except (FileNotFoundError, ProcessLookupError):
                continue
    found = [root]
    for pid in found:  # grows while it is walked
        found += children[pid]
    return found


def role_of(command: str) -> str:
    """The role of a process that the driver has started."""
    return next((role for title, role in _TITLES.items() if command.startswith(title)), RAY)


def _usage(folder: Path) -> Usage:
    fields = dict(line.split(":", 1) for line in (folder / "smaps_rollup").read_text().splitlines()[1:])
    resident, anonymous = (int(fields[name].split()[0]) / 1024 for name in ("Rss", "Anonymous"))
    user, system = (int(ticks) / os.sysconf("SC_CLK_TCK") for ticks in _stat(folder)[11:13])
    return Usage(resident, anonymous, user + system)


def _stat(folder: Path) -> list[str]:
    """The fields of /proc/<pid>/stat after the program's name, which may hold spaces: state, parent, …"""
    return (folder / "stat").read_text().rpartition(")")[2].split()

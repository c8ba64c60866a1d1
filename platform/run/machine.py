"""Hardware of this machine: cores, memory, GPUs, shared memory, compiler."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

GIB = 1024**3


@dataclass(frozen=True)
class Machine:
    """What this process may use: a container's limits, not the host's."""

    cores: int
    memory_gib: float
    memory_free_gib: float
    gpus: list[str]
    """Name and memory of each GPU."""
    shm_gib: float
    """Size of /dev/shm, where Ray keeps its objects and MiniHack its game directories; 0 if missing."""
    shm_writable: bool
    compiler: str | None
    """First line of `cc --version`."""


def this_machine() -> Machine:
    """Inspect this machine."""
    total, free = _memory()
    shm = Path("/dev/shm")
    return Machine(
        cores=_cores(),
        memory_gib=round(total / GIB, 1),
        memory_free_gib=round(free / GIB, 1),
        gpus=_gpus(),
        shm_gib=round(shutil.disk_usage(shm).total / GIB, 2) if shm.is_dir() else 0.0,
        shm_writable=_writable(shm),
        compiler=_first_line("cc", "--version") or _first_line("gcc", "--version"),
    )


def processor() -> str:
    """The processor's model."""
    lines = _read("/proc/cpuinfo").splitlines()
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return model or platform.machine()


def _cores() -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = _read("/sys/fs/cgroup/cpu.max").split()
    if len(limit) == 2 and limit[0].isdigit():
        cores = min(cores, max(1, int(limit[0]) // int(limit[1])))
    return cores


def _memory() -> tuple[int, int]:
    """Total and free bytes."""
    fields = dict(line.split(":", 1) for line in _read("/proc/meminfo").splitlines() if ":" in line)
    total, free = (int(fields.get(name, "0 kB").split()[0]) * 1024 for name in ("MemTotal", "MemAvailable"))
    limit = _read("/sys/fs/cgroup/memory.max").strip()
    if limit.isdigit() and int(limit) < total:
        used = _read("/sys/fs/cgroup/memory.current").strip()
        total = int(limit)
        free = min(free, total - int(used or 0))
    return total, free


def _gpus() -> list[str]:
    output = _output("nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader")
    return [line.strip() for line in output.splitlines() if line.strip()]


def _writable(folder: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def _first_line(*command: str) -> str | None:
    return next(iter(_output(*command).splitlines()), None)


def _output(*command: str) -> str:
    """A program's output; empty if it is not installed or fails."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout if result.returncode == 0 else ""

"""Memory by role, from a made-up /proc and from this process."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bonuslab.experiments.benchmarks.process_memory import (
    BONUS,
    DRIVER,
    IDLE,
    PROC,
    RAY,
    RUNNER,
    Usage,
    descendants,
    usage_by_process,
    usage_by_role,
)

linux = pytest.mark.skipif(not (PROC / "self" / "smaps_rollup").exists(), reason="only Linux has smaps_rollup")
TICKS = os.sysconf("SC_CLK_TCK")


def add(proc: Path, pid: int, parent: int, command: str, resident: int, anonymous: int, seconds: int) -> None:
    """A process of so many MB, whose name holds what confuses parsers."""
    folder = proc / str(pid)
    folder.mkdir()
    numbers = " ".join(["0"] * 9 + [str(seconds * TICKS), str(2 * TICKS)])
    (folder / "stat").write_text(f"{pid} (a) b ( c) S {parent} {numbers} 0 0\n")
    (folder / "cmdline").write_text(command)
    for number in range(seconds):
        (folder / "fd" / str(number)).mkdir(parents=True)
    (folder / "smaps_rollup").write_text(
        f"0-f ---p 00000000 00:00 0 [rollup]\nRss: {resident * 1024} kB\nPss: 1 kB\nAnonymous: {anonymous * 1024} kB\n"
    )


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    add(tmp_path, 1, 0, "init", 1, 1, 1)
    add(tmp_path, 10, 1, "python -m bonuslab train", 500, 400, 30)
    add(tmp_path, 11, 10, "gcs_server", 50, 20, 3)
    add(tmp_path, 12, 10, "raylet", 60, 30, 5)
    add(tmp_path, 13, 12, "ray::FragmentRunner.sample", 300, 200, 7)
    add(tmp_path, 14, 12, "ray::FragmentRunner", 310, 210, 8)
    add(tmp_path, 15, 12, "ray::SharedBonus.process", 700, 600, 9)
    add(tmp_path, 16, 12, "ray::IDLE", 90, 80, 1)
    add(tmp_path, 20, 1, "ray::SharedBonus.process", 7, 7, 7)  # somebody else's
    (tmp_path / "meminfo").write_text("")
    return tmp_path


def test_processes_are_added_up_by_role(proc: Path) -> None:
    assert usage_by_role(10, proc) == {
        DRIVER: Usage(500, 400, 32, 30),
        RAY: Usage(110, 50, 12, 8),
        RUNNER: Usage(610, 410, 19, 15),
        BONUS: Usage(700, 600, 11, 9),
        IDLE: Usage(90, 80, 3, 1),
    }


def test_every_process_has_a_name(proc: Path) -> None:
    add(proc, 18, 12, "/bin/python3\0-u\0/ray/log_monitor.py\0--gcs=1\0", 1, 1, 1)
    assert [name for _, name in sorted(usage_by_process(10, proc))] == [
        *(DRIVER, "gcs_server", "raylet", RUNNER, RUNNER, BONUS, IDLE),
        "log_monitor",
    ]
    assert usage_by_process(10, proc)[14, RUNNER] == Usage(310, 210, 10, 8)


def test_a_process_that_has_ended_meanwhile_is_left_out(proc: Path) -> None:
    (proc / "15" / "smaps_rollup").unlink()
    (proc / "17").mkdir()  # its files are gone already
    assert BONUS not in usage_by_role(10, proc)


@linux
def test_this_process_and_its_child_are_found() -> None:
    before = usage_by_role(os.getpid())[DRIVER]
    # Not from malloc, which may hand out memory that the process already has.
    block = mmap.mmap(-1, 40_000_000, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for page in range(0, len(block), mmap.PAGESIZE):
        block[page] = 1
    after = usage_by_role(os.getpid())[DRIVER]
    assert len(block) / 2**20 * 0.9 < after.anonymous_mb - before.anonymous_mb < 60
    assert after.resident_mb > after.anonymous_mb
    assert 0 < before.cpu_seconds <= after.cpu_seconds
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert child.pid in descendants(os.getpid())
        child.communicate(b"\n")
    assert child.pid not in descendants(os.getpid())

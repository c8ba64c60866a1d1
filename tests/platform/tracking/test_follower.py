"""The process that follows a grid: the driver survives its failures and MLflow's. See also test_server.py."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bonuslab.platform.run.folder import GridFolder
from bonuslab.platform.tracking import Follower
from bonuslab.platform.tracking import __main__ as follower_process
from bonuslab.platform.tracking.cursor import read_cursor
from bonuslab.platform.tracking.store import DATABASE, store_of


def test_heavy_imports_are_deferred() -> None:
    code = "import sys, bonuslab.platform.tracking.delivery; print({'mlflow', 'ray', 'torch'} & set(sys.modules))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == "set()"


def test_delivers_what_a_killed_driver_left(grid: GridFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    first = {"folder": str(grid.path), "tracking_uri": store_of(grid).uri}
    # The end of its input is the end of the driver. In this process, since one more costs seconds.
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(first) + "\n"))
    monkeypatch.setattr(os, "nice", lambda niceness: niceness)
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)
    follower_process.main()
    cursor = read_cursor(grid.trials()[2].tracking_file, DATABASE)
    assert (cursor.delivered[:8], cursor.mlflow_status) == ("2:50000:", "KILLED")


def test_unresponsive_server_delays_nothing(grid: GridFolder) -> None:
    notes: list[str] = []
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        uri = f"http://me:secret@127.0.0.1:{silent.getsockname()[1]}"
        follower = Follower(grid, uri, notes.append)
        follower.start()
        assert follower._process is not None
        for _ in range(20_000):  # more than its pipe holds; a write that waited would never return
            follower._send(follower._process, {"do": "deliver"})
        assert not follower.stop(timeout_seconds=0.5)
        assert follower.problem == f"{follower.store.name} did not finish within 0 s"
    summary = follower.summary()
    assert "3 trials with 7 new rows are not in MLflow" in summary
    assert f"`bonuslab track {grid.path} --tracking-uri http://***@127.0.0.1" in summary
    written = "".join(path.read_text() for path in grid.path.rglob("*.json"))
    assert "secret" not in summary + written + str(notes)


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ("exit 7", 7),
        ("exit 0", 0),
        ("sleep 2; exit 7", 7),  # its pipe breaks long before it can be reaped
    ],
)
def test_driver_notices_that_the_process_died(
    grid: GridFolder,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    wait_until: Callable[..., bool],
    ending: str,
    status: int,
) -> None:
    broken, closed = tmp_path / "python", tmp_path / "closed"
    broken.write_text(f"#!/bin/sh\nexec <&-\n: > '{closed}'\n{ending}\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", os.fspath(broken))
    notes: list[str] = []
    follower = Follower(grid, None, notes.append)
    follower.start()
    wait_until(closed.exists)
    assert not follower.deliver(timeout_seconds=600)
    assert not follower.stop(timeout_seconds=600)
    assert follower.problem == f"the process that tracks the grid ended with status {status}"
    ending = f"the process that tracks the grid ended with status {status}"
    assert notes == [f"tracking: {ending} and is started again; training continues"]


def test_a_killed_process_is_started_again(
    grid: GridFolder, wait_until: Callable[..., bool], append_row: Callable[..., None]
) -> None:
    notes: list[str] = []
    running = grid.trials()[2]
    follower = Follower(grid, None, notes.append)
    follower.start()
    assert follower._process is not None
    first = follower._process.pid
    os.kill(first, signal.SIGKILL)
    append_row(running, 75_000)
    wait_until(lambda: read_cursor(running.tracking_file, DATABASE).delivered.startswith("3:75000:"))
    assert follower._process.pid != first
    wait_until(lambda: len(notes) == 2)
    assert "ended with status -9 and is started again" in notes[0]
    assert notes[1].endswith("works again; everything is delivered")
    assert follower.stop(timeout_seconds=600)
    assert follower.summary() == f"every trial is in MLflow: {follower.store.name}"

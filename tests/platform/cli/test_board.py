"""`bonuslab board` as a user meets it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import requests

from bonuslab.platform.board.server import listen
from bonuslab.platform.cli import board
from bonuslab.platform.cli.main import main
from bonuslab.platform.run.folder import GridFolder


def test_serves_until_it_is_stopped(tmp_path: Path, write_sample_grid: Callable[..., GridFolder]) -> None:
    write_sample_grid(tmp_path / "runs" / "first", seeds=(0,), rows=2)
    (tmp_path / "runs" / "damaged").mkdir()
    (tmp_path / "runs" / "damaged" / "grid.json").write_text("{")
    process = subprocess.Popen(
        [sys.executable, "-m", "bonuslab.platform.cli.main", "board", "--port", "0", "--no-open"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"the grids below runs/: (http://127\.0\.0\.1:\d+/)", line)
        assert found, line
        grids = requests.get(f"{found[1]}api/grids").json()["grids"]
        assert {grid["id"]: "problem" in grid for grid in grids} == {"first": False, "damaged": True}
        lowered = os.getpriority(os.PRIO_PROCESS, 0) + board.NICENESS
        assert os.getpriority(os.PRIO_PROCESS, process.pid) == min(19, lowered)
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0
    finally:
        process.kill()
        process.wait()


def test_says_what_cannot_be_done(
    tmp_path: Path,
    write_sample_grid: Callable[..., GridFolder],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["board"]) == 2
    assert "there is no run below runs/ yet" in capsys.readouterr().err
    write_sample_grid(tmp_path / "runs" / "first", seeds=(0,), rows=2)
    assert main(["board", "firts"]) == 2
    assert "did you mean first?" in capsys.readouterr().err
    with listen("127.0.0.1", 0) as taken:
        assert main(["board", "first", "--port", str(taken.getsockname()[1])]) == 2
    assert "is in use; choose another" in capsys.readouterr().err
    assert main(["board", "--mlflow-url", "javascript:alert(1)"]) == 2
    assert "is not a web address" in capsys.readouterr().err
    for name in ("grid.json", "grid.copy.json"):
        (tmp_path / "runs" / "first" / name).write_text("{")
    assert main(["board", "first"]) == 2
    assert "grid.json cannot be read" in capsys.readouterr().err


def test_names_addresses_a_browser_understands(monkeypatch: pytest.MonkeyPatch) -> None:
    assert board.page_address("0.0.0.0", 8600) == "http://127.0.0.1:8600/"
    assert board.page_address("::1", 8600) == "http://[::1]:8600/"
    assert [board.is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "box")] == [True] * 3 + [
        False
    ] * 2
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert not board.has_screen(), "a browser in the terminal would take it over"

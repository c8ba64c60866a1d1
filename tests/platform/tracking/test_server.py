"""A real MLflow server that stops and restarts, `bonuslab ui` around it, and its page in a browser."""

from __future__ import annotations

import math
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from bonuslab.platform.cli.main import main
from bonuslab.platform.run.folder import GridFolder
from bonuslab.platform.tracking import Follower
from bonuslab.platform.tracking.cursor import read_cursor
from bonuslab.platform.tracking.store import DATABASE

RUN = "import sys; from bonuslab.platform.cli.main import main; sys.exit(main())"


class Ui:
    """`bonuslab ui` on a grid's own store in its own process, which other grids use as their tracking server."""

    def __init__(self, grid: GridFolder) -> None:
        self.grid = grid
        self.port = free_port()
        self.uri = f"http://127.0.0.1:{self.port}"
        self.link = ""
        self._process: subprocess.Popen[str] | None = None

    def run(self) -> None:
        """Start it, unless it runs."""
        if self._process is not None:
            return
        command = [sys.executable, "-c", RUN, "ui", str(self.grid.path), "--port", str(self.port)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        printed = ""
        while "Ctrl-C" not in printed:
            line = self._process.stdout.readline()
            assert line, f"bonuslab ui ended: {printed}"
            printed += line
        self.link = re.findall(r"http\S+", printed)[0]

    def stop(self) -> None:
        """Ctrl-C; nothing may be left listening."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGINT)
        assert self._process.wait() == 0
        self._process = None
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", self.port)) != 0


@pytest.fixture(scope="module")
def ui(
    tmp_path_factory: pytest.TempPathFactory,
    write_sample_grid: Callable[..., GridFolder],
    empty_database: Path,
    deliver: Callable[..., str | None],
) -> Iterator[Ui]:
    """Started by the first test that needs it, since each start takes seconds."""
    grid = write_sample_grid(tmp_path_factory.mktemp("ui") / "served", tasks=["KeyRoom-S5"], seeds=[0], rows=4)
    shutil.copy(empty_database, grid.path / DATABASE)
    assert deliver(grid) is None
    server = Ui(grid)
    yield server
    server.stop()


def free_port() -> int:
    """Below those that the system hands out: nobody else takes it while the server is away."""
    while True:
        port = random.SystemRandom().randrange(20_000, 30_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@pytest.mark.slow
@pytest.mark.needs("chromium")
def test_link_opens_the_comparison_of_scopes(ui: Ui) -> None:
    ui.run()
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1600,1200"]
    command += ["--virtual-time-budget=60000", "--dump-dom", ui.link]
    page = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for words in ("global: rnd", "episodic: e3b", "rnd · KeyRoom-S5 · seed 0", "Group by: ", "Results"):
        assert words in page
    assert 'class="trace scatter' in page  # Plotly's curves
    assert "Unassigned" not in page, "the grid's own run is in a legend"


@pytest.mark.slow
def test_restarted_server_gets_everything_once(
    ui: Ui,
    grid: GridFolder,
    contents: Any,
    append_row: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    ui.run()
    running = grid.trials()[2]
    grid.trials()[0].video.write_bytes(b"GIF89a")
    notes: list[str] = []
    follower = Follower(grid, ui.uri, notes.append)
    follower.start()
    assert follower.deliver(timeout_seconds=600)
    store = contents(grid, ui.uri)
    run_id = read_cursor(running.tracking_file, ui.uri).run_id
    assert store.client.get_run(run_id).info.status == "RUNNING"
    assert main(["ui", str(grid.path), "--tracking-uri", ui.uri]) == 0
    assert capsys.readouterr().out.startswith(f"{ui.uri}/#/experiments/")
    assert main(["ui", str(ui.grid.path), "--port", str(ui.port)]) == 2
    assert f"cannot use port {ui.port} of 127.0.0.1: Address already in use" in capsys.readouterr().err

    ui.stop()
    append_row(running, 75_000, gradient_norm=math.inf)
    assert not follower.deliver(timeout_seconds=600)
    gone = f"tracking: the tracking server {ui.uri} does not respond"
    assert notes == [f"{gone}; training continues, metrics will be delivered later"]
    assert f"nothing is lost; `bonuslab track {grid.path} --tracking-uri {ui.uri}` delivers it" in follower.summary()
    assert main(["track", str(grid.path), "--tracking-uri", ui.uri]) == 2  # the follower is at it
    append_row(running, 100_000)

    ui.run()
    assert follower.stop(timeout_seconds=600)
    assert notes[1:] == [f"tracking: {ui.uri} works again; everything is delivered"]
    assert follower.summary() == f"every trial is in MLflow: {ui.uri}"
    assert main(["track", str(grid.path), "--tracking-uri", ui.uri]) == 0
    assert len(store.runs()) == 8  # two grids of four runs each
    assert store.client.get_run(run_id).info.status == "KILLED"  # as its driver has ended
    history = store.client.get_metric_history(run_id, "win_rate")
    assert [point.step for point in history] == [25_000, 50_000, 75_000, 100_000]
    assert store.client.get_metric_history(run_id, "gradient_norm")[0].value > 1e300
    ours = [run for run in store.runs() if run.data.tags["grid"] == grid.path.name]
    files = {item.path for run in ours for item in store.client.list_artifacts(run.info.run_id)}
    assert files == {"trial.json", "error.txt", "video.gif", "grid.json"}


def test_ui_syncs_before_it_serves(grid: GridFolder, contents: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    served = []
    monkeypatch.setattr("bonuslab.platform.cli.ui._serve", lambda folder, *_: served.append(folder.path) or 0)
    assert main(["ui", str(grid.path)]) == 0
    assert served == [grid.path]
    assert contents(grid).run(grid.trials()[2]).info.status == "KILLED"  # no driver runs it


def test_track_delivers_and_reports(grid: GridFolder, contents: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["track", str(grid.path)]) == 0
    printed = capsys.readouterr().out
    assert "syncing 7 rows of 3 trials" in printed
    assert f"bonuslab ui {grid.path}" in printed
    assert contents(grid).run(grid.trials()[2]).info.status == "KILLED"  # no driver runs it
    assert main(["track", str(grid.path), "--tracking-uri", "http://127.0.0.1:9"]) == 1
    assert "7 rows of 3 trials are not synced yet" in capsys.readouterr().err

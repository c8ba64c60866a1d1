"""A board on a free port."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bonuslab.platform.board import grid_watch
from bonuslab.platform.board.grids import Grids
from bonuslab.platform.board.server import BoardApp, listen, server_of


@pytest.fixture
def always_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The board reads the files on every request."""
    monkeypatch.setattr(grid_watch, "REFRESH_SECONDS", (0.0, 0.0))


@pytest.fixture
def serve(always_read: None, wait_until: Callable[..., bool]) -> Iterator[Callable[..., str]]:
    """`serve(root, only=None, mlflow_ui=None)`: the address of a board of the grids below a folder."""
    stops: list[Callable[[], None]] = []

    def start(root: Path, only: str | None = None, mlflow_ui: str | None = None) -> str:
        listening = listen("127.0.0.1", 0)
        server = server_of(BoardApp(Grids(root, only), mlflow_ui).application("127.0.0.1"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()

        def stop() -> None:
            server.should_exit = True
            thread.join()

        stops.append(stop)
        wait_until(lambda: server.started)
        return f"http://127.0.0.1:{listening.getsockname()[1]}"

    yield start
    for stop in stops:
        stop()

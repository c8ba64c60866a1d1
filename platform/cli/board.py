"""`bonuslab board`: a live web page of a grid."""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
import webbrowser
from argparse import ArgumentParser, Namespace
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bonuslab.platform.board.links import given_address
from bonuslab.platform.run.find import RUNS, find_grid, grids_below
from bonuslab.platform.tracking.server import reachable

if TYPE_CHECKING:  # imports NumPy, for which `--help` need not wait
    from bonuslab.platform.board.grids import Grids

NICENESS = 10
"""Training has priority over the board."""


class BoardCommand:
    """See `help`."""

    help = "follow runs and grids on a live web page"
    example = "bonuslab board runs/NAME --port 8600"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command's arguments."""
        parser.add_argument("grid", nargs="?", help="name or folder of a run or grid (default: all below runs/)")
        parser.add_argument("--host", default="127.0.0.1", help="address to serve on (default 127.0.0.1: this machine)")
        parser.add_argument("--port", type=int, help="port to serve on (default: the first free one from 8600)")
        parser.add_argument("--mlflow-url", metavar="URL", help="address of the MLflow UI, to link to the runs")
        parser.add_argument("--no-open", action="store_true", help="print the address without opening a browser")

    def run(self, arguments: Namespace) -> int:
        """Serve until Ctrl-C."""
        mlflow_ui = given_address(arguments.mlflow_url)
        grids, what = chosen_grids(arguments.grid)
        from bonuslab.platform.board.server import BoardApp, listen, server_of

        listening = listen(arguments.host, arguments.port)
        app = BoardApp(grids, mlflow_ui).application(arguments.host)
        port = listening.getsockname()[1]
        address = page_address(arguments.host, port)
        print(f"board of {what}: {address} (Ctrl-C to stop)", flush=True)
        if not is_loopback(arguments.host):
            print("anyone who can reach this machine can read it; --host 127.0.0.1 restricts it to you", flush=True)
        elif "SSH_CONNECTION" in os.environ:
            print(f"to open it elsewhere: ssh -L {port}:127.0.0.1:{port} {socket.gethostname()}", flush=True)
        if not arguments.no_open and has_screen():
            webbrowser.open(address)
        os.nice(NICENESS)
        with suppress(KeyboardInterrupt):
            server_of(app).run(sockets=[listening])
        return 0


def chosen_grids(given: str | None) -> tuple[Grids, str]:
    """The given grid, or all below runs/, and how to call them."""
    from bonuslab.platform.board.grids import Grids

    if given is None and grids_below(RUNS):
        return Grids(RUNS.absolute()), f"the grids below {RUNS}/"
    folder = find_grid(given, RUNS)
    path = Path(os.path.abspath(folder.path))
    return Grids(path.parent, path.name), str(folder.path)


def page_address(host: str, port: int) -> str:
    """The page's address in a browser on this machine."""
    return f"http://{reachable(host)}:{port}/"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server at `host`."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def has_screen() -> bool:
    """Whether a browser can open a window; without one it would take over the terminal."""
    return sys.platform == "darwin" or any(name in os.environ for name in ("DISPLAY", "WAYLAND_DISPLAY"))

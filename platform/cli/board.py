"""`bonuslab board`: a live page of a grid."""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
import webbrowser
from argparse import ArgumentParser, Namespace
from contextlib import suppress
from pathlib import Path

from bonuslab.platform.board.grids import Grids
from bonuslab.platform.board.links import given_address
from bonuslab.platform.run.find import find_grid, grids_below

RUNS = Path("runs")
NICENESS = 10
"""The board waits where the training wants the processor."""


class BoardCommand:
    """See `help`."""

    help = "watch a running or finished grid on a live page"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command's arguments."""
        parser.add_argument("grid", nargs="?", help="folder or name of a grid (default: all below runs/)")
        parser.add_argument("--host", default="127.0.0.1", help="address to serve at (default 127.0.0.1: only you)")
        parser.add_argument("--port", type=int, help="port to serve at (default: the first free one from 8600 on)")
        parser.add_argument("--mlflow-url", metavar="URL", help="where MLflow's pages are, for links to the runs")
        parser.add_argument("--no-open", action="store_true", help="print the address, but open no browser")

    def run(self, arguments: Namespace) -> int:
        """Serve until Ctrl-C."""
        mlflow_ui = given_address(arguments.mlflow_url)
        grids, what = chosen_grids(arguments.grid)
        from bonuslab.platform.board.server import BoardApp, listen, server_of

        listening = listen(arguments.host, arguments.port)
        app = BoardApp(grids, mlflow_ui).application(arguments.host)
        port = listening.getsockname()[1]
        address = page_address(arguments.host, port)
        print(f"board of {what}: {address} (Ctrl-C ends it)", flush=True)
        if not is_loopback(arguments.host):
            print("anyone who can reach this machine can read it; --host 127.0.0.1 keeps it to yourself", flush=True)
        elif "SSH_CONNECTION" in os.environ:
            print(f"from your own machine: ssh -L {port}:127.0.0.1:{port} {socket.gethostname()}", flush=True)
        if not arguments.no_open and has_screen():
            webbrowser.open(address)
        os.nice(NICENESS)
        with suppress(KeyboardInterrupt):
            server_of(app).run(sockets=[listening])
        return 0


def chosen_grids(given: str | None) -> tuple[Grids, str]:
    """The grid a user named, or all below runs/, and what to call them."""
    if given is None and grids_below(RUNS):
        return Grids(RUNS.absolute()), f"the grids below {RUNS}/"
    folder = find_grid(given, RUNS)
    path = Path(os.path.abspath(folder.path))
    return Grids(path.parent, path.name), str(folder.path)


def page_address(host: str, port: int) -> str:
    """What to type into a browser on this machine."""
    everywhere = {"0.0.0.0": "127.0.0.1", "::": "::1"}
    shown = everywhere.get(host, host)
    return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server at `host`."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def has_screen() -> bool:
    """Whether a browser would open in a window; in a bare terminal it would take the terminal over."""
    return sys.platform == "darwin" or any(name in os.environ for name in ("DISPLAY", "WAYLAND_DISPLAY"))

"""`bonuslab ui`: compare the runs of a grid in the MLflow UI."""

from __future__ import annotations

import signal
import sys
import webbrowser
from argparse import ArgumentParser, Namespace
from contextlib import suppress
from urllib.parse import urlsplit

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.cli.board import has_screen, is_loopback
from bonuslab.platform.cli.track import sync
from bonuslab.platform.run.find import find_grid
from bonuslab.platform.run.folder import GridFolder
from bonuslab.platform.tracking.comparison import comparison_link
from bonuslab.platform.tracking.cursor import read_cursor
from bonuslab.platform.tracking.delivery import Busy
from bonuslab.platform.tracking.identity import GRID_TRACKING, grid_identity
from bonuslab.platform.tracking.server import MlflowServer, ServerFailed
from bonuslab.platform.tracking.store import Store, store_of

DEFAULT_PORT = 5000


class UiCommand:
    """See `help`."""

    help = "compare runs with different bonuses in the MLflow UI"
    example = "bonuslab ui runs/NAME"

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the command's arguments."""
        parser.add_argument("grid", nargs="?", help="name or folder of a run or grid (default: the newest below runs/)")
        parser.add_argument("--port", type=int, default=DEFAULT_PORT, help=f"port to serve on (default {DEFAULT_PORT})")
        parser.add_argument("--host", default="127.0.0.1", help="address to serve on (default 127.0.0.1: this machine)")
        parser.add_argument("--no-open", action="store_true", help="print the address without opening a browser")
        parser.add_argument("--tracking-uri", metavar="URI", help="MLflow server or database (default: the grid's own)")

    def run(self, arguments: Namespace) -> int:
        """Sync, then serve until Ctrl-C; for a tracking server, print its link instead."""
        folder = find_grid(arguments.grid)
        store = store_of(folder, arguments.tracking_uri)
        with suppress(Busy):  # a running grid syncs itself
            problem = sync(folder, store)
            if problem is not None:
                print(f"warning: {problem}", file=sys.stderr)
        cursor = read_cursor(folder.path / GRID_TRACKING, store.key)
        if not cursor.run_id:
            raise InvalidInput(f"{store.name} contains nothing of {folder.path} yet; no trial has started")
        grid_id = grid_identity(folder.description())
        if store.is_server:
            link = comparison_link(_web_address(store), cursor.experiment_id, grid_id)
            print(link)
            if not arguments.no_open and has_screen():
                webbrowser.open(link)
            return 0
        return _serve(folder, store, arguments, cursor.experiment_id, grid_id)


def _serve(folder: GridFolder, store: Store, arguments: Namespace, experiment_id: str, grid_id: str) -> int:
    server = MlflowServer(store, arguments.host, arguments.port)
    if not is_loopback(arguments.host):
        print(f"warning: anyone who can reach {arguments.host}:{arguments.port} can read and change these runs")
    print(f"starting MLflow on {store.name} …", flush=True)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    try:
        with server:
            link = comparison_link(server.address, experiment_id, grid_id)
            print(f"compare the bonuses of {folder.path.name}:")
            print(f"  {link}")
            print("to show a single task, add to the search:  and tags.task = 'NAME'")
            print("Ctrl-C to stop", flush=True)
            if not arguments.no_open and has_screen():
                webbrowser.open(link)
            status = server.wait()
            print(f"bonuslab: MLflow ended with status {status}:\n{server.last_output()}", file=sys.stderr)
            return 1
    except KeyboardInterrupt:
        print("stopped")
        return 0
    except ServerFailed as error:
        print(f"bonuslab: {error}", file=sys.stderr)
        return 1


def _web_address(store: Store) -> str:
    """A tracking server's address without user, password and query, which the browser asks for."""
    parts = urlsplit(store.uri)
    if parts.scheme not in ("http", "https"):
        raise InvalidInput(f"{store.name} has its own web interface; open it there")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

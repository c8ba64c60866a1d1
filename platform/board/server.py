"""The board's web server: one page, its data as JSON, GET only."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.board.grids import Grids
from bonuslab.platform.board.guard import Guard, own_names
from bonuslab.platform.board.layout import layout_of, metric_of
from bonuslab.platform.board.trial_page import TrialPages
from bonuslab.platform.board.trial_watch import stamp

PORT = 8600
FURTHER_PORTS = 20
"""Tried after `PORT` if the user gave none."""
MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
PAGE = "index.html"


class BoardApp:
    """The answers to all requests."""

    def __init__(self, grids: Grids, mlflow_ui: str | None = None) -> None:
        self._grids = grids
        self._pages = TrialPages(mlflow_ui)
        folder = files("bonuslab.platform.board").joinpath("static-files")
        # Read once: a request can name one of these files and nothing else.
        self._static = {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}

    def application(self, host: str) -> Starlette:
        """The ASGI application of a board bound to `host`."""
        routes: dict[str, Callable[[Request], Response]] = {
            "/": self.static,
            "/static/{file}": self.static,
            "/api/grids": self.index,
            "/api/grids/{grid}": self.grid,
            "/api/grids/{grid}/comparison": self.comparison,
            "/api/grids/{grid}/trials/{trial}": self.trial,
            "/api/grids/{grid}/trials/{trial}/video.gif": self.video,
        }
        return Starlette(
            routes=[Route(path, answer) for path, answer in routes.items()],
            middleware=[
                Middleware(Guard, own_names=own_names(host)),
                Middleware(GZipMiddleware, minimum_size=2_000, compresslevel=5),
            ],
            exception_handlers={InvalidInput: _explain},
        )

    def static(self, request: Request) -> Response:
        """The page and its parts."""
        name = request.path_params.get("file", PAGE)
        if name not in self._static:
            return _missing("no such file")
        return Response(self._static[name], media_type=MEDIA_TYPES.get(name[name.rfind(".") :], "text/plain"))

    def index(self, request: Request) -> Response:
        """All grids."""
        return JSONResponse({"grids": self._grids.index()})

    def grid(self, request: Request) -> Response:
        """What changed in a grid since the version in the query."""
        watch = self._grids.watch(request.path_params["grid"])
        if watch is None:
            return _missing("no such grid")
        return JSONResponse(watch.changes(request.query_params.get("since", "")))

    def comparison(self, request: Request) -> Response:
        """Curves by bonus of the metric in the query."""
        watch = self._grids.watch(request.path_params["grid"])
        if watch is None:
            return _missing("no such grid")
        comparison, description = watch.comparison()
        own = metric_of(description)
        metric = request.query_params.get("metric") or own
        return _tagged(request, comparison.tag(metric), lambda: comparison.as_data(layout_of(description), metric, own))

    def trial(self, request: Request) -> Response:
        """One trial; 304 for a browser that has the newest version."""
        watch = self._grids.watch(request.path_params["grid"])
        found = watch.trial(request.path_params["trial"]) if watch else None
        if watch is None or found is None or watch.description is None:
            return _missing("no such trial")
        trial, description = found
        grid = watch.description
        return _tagged(request, self._pages.tag(trial), lambda: self._pages.page(grid, description, trial))

    def video(self, request: Request) -> Response:
        """The video of a trial's policy."""
        watch = self._grids.watch(request.path_params["grid"])
        found = watch.trial(request.path_params["trial"]) if watch else None
        if found is None or stamp(found[0].folder.video) is None:
            return _missing("no such video")
        return FileResponse(found[0].folder.video, media_type="image/gif")


def _tagged(request: Request, version: str, data: Callable[[], Any]) -> Response:
    """The data, or 304 for a browser that has this version of it."""
    tag = f'"{version}"'
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers={"ETag": tag})
    return JSONResponse(data(), headers={"ETag": tag})


def _missing(what: str) -> Response:
    return JSONResponse({"problem": what}, status_code=404)


def _explain(request: Request, error: Exception) -> Response:
    return JSONResponse({"problem": str(error)}, status_code=409)


def listen(host: str, port: int | None) -> socket.socket:
    """A socket to serve from: on the given port, or else on the first free one from `PORT`."""
    ports = range(PORT, PORT + FURTHER_PORTS) if port is None else [port]
    for number in ports:
        try:
            family = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM)[0][0]
            return socket.create_server((host, number), family=family)
        except socket.gaierror as error:
            raise InvalidInput(f"invalid --host {host}: {error.strerror}") from error
        except OverflowError as error:
            raise InvalidInput(f"invalid --port {number}; allowed: 0 to 65535") from error
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise InvalidInput(f"cannot listen on {host} port {number}: {error.strerror}") from error
    if port is None:
        raise InvalidInput(f"all ports from {ports[0]} to {ports[-1]} of {host} are in use; choose another with --port")
    raise InvalidInput(f"port {port} of {host} is in use; choose another, or omit --port to use a free one")


def server_of(app: Starlette) -> uvicorn.Server:
    """A server that logs errors only; `run(sockets=[…])` serves until Ctrl-C."""
    config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off", timeout_graceful_shutdown=2)
    return uvicorn.Server(config)

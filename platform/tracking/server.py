"""MLflow's own server, with its web interface, as a child process on a store."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import deque
from threading import Thread
from types import TracebackType

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.run.redaction import redacted
from bonuslab.platform.tracking.store import QUIET, Store

SECONDS_TO_START = 120.0
_SECONDS_TO_STOP = 5.0
_LINES_KEPT = 30


class ServerFailed(RuntimeError):  # noqa: N818 (it reads as what it is)
    """MLflow's server did not start; the text is the end of its output."""


class MlflowServer:
    """A context manager that serves a store."""

    def __init__(self, store: Store, host: str, port: int) -> None:
        _require_free(host, port)
        self.address = f"http://{reachable(host)}:{port}"
        self._output: deque[str] = deque(maxlen=_LINES_KEPT)
        self._command = [sys.executable, "-m", "mlflow", "server", "--host", host, "--port", str(port)]
        self._command += ["--workers", "1", "--artifacts-destination", str(store.artifacts)]
        # In the environment: everyone on the machine can read a command line.
        self._environment = {**os.environ, **QUIET, "MLFLOW_BACKEND_STORE_URI": store.uri}
        # Its job queue is for language models and starts further processes.
        self._environment["MLFLOW_SERVER_ENABLE_JOB_EXECUTION"] = "false"

    def __enter__(self) -> MlflowServer:
        self._process = subprocess.Popen(
            self._command,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # the server's children end with their group
        )
        Thread(target=self._keep_output, daemon=True).start()
        try:
            self._wait_until_ready()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def wait(self) -> int:
        """Wait until it ends by itself, which it should not; its exit status."""
        return self._process.wait()

    def last_output(self) -> str:
        """The end of its output, without credentials."""
        return redacted("\n".join(self._output))

    def _keep_output(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._output.append(line.rstrip())

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + SECONDS_TO_START
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise ServerFailed(
                    f"MLflow's server ended with status {self._process.returncode}:\n{self.last_output()}"
                )
            try:
                with urllib.request.urlopen(f"{self.address}/health", timeout=2):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.2)
        raise ServerFailed(f"MLflow's server did not respond within {SECONDS_TO_START:.0f} s:\n{self.last_output()}")

    def _stop(self) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self._process.pid, number)
                self._process.wait(_SECONDS_TO_STOP)
            except ProcessLookupError:
                return
            except subprocess.TimeoutExpired:
                continue


def _require_free(host: str, port: int) -> None:
    if not 0 < port < 65_536:
        raise InvalidInput(f"invalid port {port}; allowed: 1 to 65535")
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            # Like the server itself: a port that was just released is free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
    except socket.gaierror as error:
        raise InvalidInput(f"invalid host {host!r}: {error.strerror}") from error
    except OSError as error:
        raise InvalidInput(f"cannot use port {port} of {host}: {error.strerror}; choose another with --port") from error


def reachable(host: str) -> str:
    """The host name by which this machine reaches a server bound to `host`."""
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"[{name}]" if ":" in name else name

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
    """MLflow's server did not start; the text has its own last words."""


class MlflowServer:
    """Entered, it serves a store until it is left."""

    def __init__(self, store: Store, host: str, port: int) -> None:
        _require_free(host, port)
        self.address = f"http://{_reachable(host)}:{port}"
        self._words: deque[str] = deque(maxlen=_LINES_KEPT)
        self._command = [sys.executable, "-m", "mlflow", "server", "--host", host, "--port", str(port)]
        self._command += ["--workers", "1", "--artifacts-destination", str(store.artifacts)]
        # In the environment and not on the command line, which everyone on the machine can read.
        self._environment = {**os.environ, **QUIET, "MLFLOW_BACKEND_STORE_URI": store.uri}
        # Its job queue is for language models and starts processes of its own.
        self._environment["MLFLOW_SERVER_ENABLE_JOB_EXECUTION"] = "false"

    def __enter__(self) -> MlflowServer:
        self._process = subprocess.Popen(
            self._command,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # the server has children, which end with their group
        )
        Thread(target=self._keep_words, daemon=True).start()
        try:
            self._wait_until_it_answers()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def wait(self) -> int:
        """Until it ends by itself, which it should not; its status."""
        return self._process.wait()

    def last_words(self) -> str:
        """The end of what it printed, without credentials."""
        return redacted("\n".join(self._words))

    def _keep_words(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._words.append(line.rstrip())

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + SECONDS_TO_START
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise ServerFailed(
                    f"MLflow's server ended with status {self._process.returncode}:\n{self.last_words()}"
                )
            try:
                with urllib.request.urlopen(f"{self.address}/health", timeout=2):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.2)
        raise ServerFailed(f"MLflow's server did not answer within {SECONDS_TO_START:.0f} s:\n{self.last_words()}")

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
        raise InvalidInput(f"port {port} cannot be used; allowed: 1 to 65535")
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            # As the server itself does: a port whose last owner has just left is free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
    except socket.gaierror as error:
        raise InvalidInput(f"host {host!r} cannot be used: {error.strerror}") from error
    except OSError as error:
        raise InvalidInput(
            f"port {port} of {host} cannot be used: {error.strerror}; choose another with --port"
        ) from error


def _reachable(host: str) -> str:
    """The name under which this machine itself reaches a server bound to `host`."""
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"[{name}]" if ":" in name else name

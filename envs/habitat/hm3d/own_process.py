"""Runs habitat-sim in a separate process per agent.

A second simulator in a process crashes it, and habitat-sim exits its process if it cannot open a GPU. Processes are
spawned, not forked: a fork of a process that has used CUDA cannot render.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from bonuslab.envs.habitat.hm3d.devices import AUTO
from bonuslab.envs.habitat.hm3d.simulator import HabitatSim, import_habitat_sim
from bonuslab.envs.habitat.simulator import Action, NavigableMap, Point, Pose, SimulatorDied

_SECONDS_TO_CLOSE: Final = 20.0


class HM3DSimulator:
    """One agent in one house; see `Simulator`. Its process starts with the first episode."""

    def __init__(
        self, scene_file: Callable[[int], Path], dataset: str, size: int, gpu_device: int | str, islands: str
    ) -> None:
        """`scene_file` returns the .glb of a scene; for the rest, see `HabitatSim`."""
        self._scene_file = scene_file
        self._settings = dataset, size, gpu_device, islands
        self._messages: IO[bytes] | None = None
        """What the process writes to its standard error."""
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._pending: list[tuple[str, tuple[object, ...]]] = []
        """Requests whose replies are pending."""
        self._pose: Pose | None = None

    def prefetch_begin(self, scene: int, start: Pose) -> None:
        """Send the request for `begin` now; its reply is read later."""
        self._request("begin", str(self._scene_file(scene)), start)

    def begin(self, scene: int, start: Pose) -> None:
        """Load a scene, unless it is already loaded, and put the agent at `start`."""
        self._pose = self._call("begin", str(self._scene_file(scene)), start)

    def prefetch(self, action: Action) -> None:
        """Send the requests for `act` and `render` now; their replies are read later."""
        self._request("act", action)
        self._request("look")

    def act(self, action: Action) -> None:
        """Move or turn; habitat-sim slides along walls."""
        self._pose = self._call("act", action)

    @property
    def pose(self) -> Pose:
        """The agent's current pose."""
        assert self._pose is not None
        return self._pose

    def render(self, rgb: np.ndarray, depth: np.ndarray) -> None:
        """Draw the agent's view."""
        rgb[:], depth[:] = self._call("look")

    def navigable_map(self) -> NavigableMap:
        """The navigable part of the agent's floor."""
        floor: NavigableMap = self._call("navigable_map")
        return floor

    def released_map(self, goal: Point | None) -> tuple[NavigableMap, list[Point]]:
        """See `Simulator`."""
        drawn: tuple[NavigableMap, list[Point]] = self._call("released_map", goal)
        return drawn

    def close(self) -> None:
        """Stop the process."""
        if self._process is not None:
            self._stop()
        if self._messages is not None:
            self._messages.close()
            self._messages = None

    def _request(self, name: str, *arguments: object) -> None:
        """Send a request whose reply `_call` reads later; `_call` also reports it if that fails."""
        try:
            self._connected(name).send((name, arguments))
        except (OSError, SimulatorDied):
            return
        self._pending.append((name, arguments))

    def _call(self, name: str, *arguments: object) -> Any:
        """Call a method of `HabitatSim` in the process and return its result."""
        connection = self._connected(name)
        try:
            if (name, arguments) in self._pending[:1]:
                self._pending.pop(0)
            else:
                while self._pending:  # discard replies that are no longer needed
                    connection.recv()
                    self._pending.pop(0)
                connection.send((name, arguments))
            fine, answer = connection.recv()
        except (EOFError, OSError) as error:
            status, said = self._stop(), self._last_words()
            raise SimulatorDied(f"habitat-sim ended with status {status}: {said}") from error
        except BaseException:
            self._stop()  # a reply may be in flight that the next request would take for its own
            raise
        if not fine:
            raise RuntimeError(answer)
        return answer

    def _connected(self, request: str) -> Connection:
        """The connection to the process, which only an episode's `begin` starts."""
        if self._connection is None and request != "begin":
            raise SimulatorDied("habitat-sim does not run; begin an episode first")
        return self._connection or self._start()

    def _start(self) -> Connection:
        ours, theirs = socket.socketpair()
        if self._messages is not None:
            self._messages.close()
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115 (open while the process runs)
        with theirs:
            settings = [str(setting) for setting in (theirs.fileno(), *self._settings)]
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, *settings],
                pass_fds=[theirs.fileno()],
                stderr=self._messages,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},  # same import path as ours
            )
        self._connection = Connection(ours.detach())
        return self._connection

    def _last_words(self) -> str:
        """The last two messages of the process; a traceback's indented lines are none."""
        assert self._messages is not None
        self._messages.seek(0)
        lines = self._messages.read().decode(errors="replace").splitlines()
        words = [line.strip() for line in lines if line.strip() and not line[0].isspace()]
        return "; ".join(words[-2:]) or "without a message; check that the machine can render (`bonuslab doctor HM3D`)"

    def _stop(self) -> int:
        """Close the connection, which ends the process; returns its exit status."""
        assert self._process is not None
        assert self._connection is not None
        self._connection.close()
        self._pending.clear()
        process, self._process, self._connection = self._process, None, None
        try:
            return process.wait(_SECONDS_TO_CLOSE)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


def serve(connection: Connection, simulator: HabitatSim) -> None:
    """Answer requests until the other side disconnects."""
    try:
        while True:
            name, arguments = connection.recv()
            try:
                answer = True, getattr(simulator, name)(*arguments)
            except Exception as error:
                answer = False, f"{type(error).__name__}: {error}"
            connection.send(answer)
    except (EOFError, OSError):
        pass
    finally:
        simulator.close()


def main(descriptor: str, dataset: str, size: str, gpu_device: str, islands: str) -> None:
    """Entry point of the process: serve a simulator on the socket `descriptor`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and then disconnects
    device = gpu_device if gpu_device == AUTO else int(gpu_device)
    serve(Connection(int(descriptor)), HabitatSim(import_habitat_sim(), dataset, int(size), device, islands))


if __name__ == "__main__":
    main(*sys.argv[1:])

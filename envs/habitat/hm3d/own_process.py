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
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import numpy as np

from bonuslab.envs.habitat.hm3d.simulator import HabitatSim, import_habitat_sim
from bonuslab.envs.habitat.simulator import Action, NavigableMap, Pose

_SECONDS_TO_CLOSE: Final = 20.0


class HM3DSimulator:
    """One agent in one house; see `Simulator`. Its process starts with the first episode."""

    def __init__(self, scene_file: Callable[[int], Path], dataset: str, size: int, gpu_device: int) -> None:
        """`scene_file` returns the .glb of a scene; for the rest, see `HabitatSim`."""
        self._scene_file = scene_file
        self._settings = dataset, size, gpu_device
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._pending: list[str] = []
        """Requests whose replies are pending."""
        self._pose: Pose | None = None

    def begin(self, scene: int, start: Pose) -> None:
        """Load a scene, unless it is already loaded, and put the agent at `start`."""
        self._pose = self._call("begin", str(self._scene_file(scene)), start)

    def prefetch(self, action: Action) -> None:
        """Send the requests for `act` and `render` now; their replies are read later."""
        connection = self._connection or self._start()
        try:
            connection.send(("act", (action,)))
            connection.send(("look", ()))
        except OSError:
            return  # `act` will report it
        self._pending += ["act", "look"]

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

    def close(self) -> None:
        """Stop the process."""
        if self._process is not None:
            self._stop()

    def _call(self, name: str, *arguments: object) -> Any:
        """Call a method of `HabitatSim` in the process and return its result."""
        connection = self._connection or self._start()
        try:
            if name in self._pending[:1]:
                self._pending.pop(0)
            else:
                while self._pending:  # discard replies that are no longer needed
                    connection.recv()
                    self._pending.pop(0)
                connection.send((name, arguments))
            fine, answer = connection.recv()
        except (EOFError, OSError) as error:
            raise RuntimeError(
                f"the process of habitat-sim ended with status {self._stop()}; see its messages in the log. If there "
                "are none, check that the GPU can render (EGL), not only compute"
            ) from error
        except BaseException:
            self._stop()  # a reply may be in flight that the next request would take for its own
            raise
        if not fine:
            raise RuntimeError(answer)
        return answer

    def _start(self) -> Connection:
        ours, theirs = socket.socketpair()
        with theirs:
            settings = [str(setting) for setting in (theirs.fileno(), *self._settings)]
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, *settings],
                pass_fds=[theirs.fileno()],
                env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},  # same import path as ours
            )
        self._connection = Connection(ours.detach())
        return self._connection

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


def main(descriptor: str, dataset: str, size: str, gpu_device: str) -> None:
    """Entry point of the process: serve a simulator on the socket `descriptor`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and then disconnects
    serve(Connection(int(descriptor)), HabitatSim(import_habitat_sim(), dataset, int(size), int(gpu_device)))


if __name__ == "__main__":
    main(*sys.argv[1:])

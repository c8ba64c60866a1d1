"""habitat-sim in a process of its own, one for each agent.

A second simulator in a process crashes it, and where no graphics card can be opened habitat-sim ends the process it is
in. The processes are started afresh: a copy of one that has used CUDA could not draw.
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
        """`scene_file` finds the .glb of a scene; for the others, see `HabitatSim`."""
        self._scene_file = scene_file
        self._settings = dataset, size, gpu_device
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._asked: list[str] = []
        """Questions whose answers are still to come."""
        self._pose: Pose | None = None

    def begin(self, scene: int, start: Pose) -> None:
        """Load a house, if another one is loaded, and put the agent there."""
        self._pose = self._call("begin", str(self._scene_file(scene)), start)

    def foresee(self, action: Action) -> None:
        """Ask for the step and its picture now, and take the answers when they are wanted."""
        connection = self._connection or self._start()
        try:
            connection.send(("act", (action,)))
            connection.send(("look", ()))
        except OSError:
            return  # `act` will say so
        self._asked += ["act", "look"]

    def act(self, action: Action) -> None:
        """Move or turn; habitat-sim slides along walls."""
        self._pose = self._call("act", action)

    @property
    def pose(self) -> Pose:
        """Where the agent is."""
        assert self._pose is not None
        return self._pose

    def render(self, rgb: np.ndarray, depth: np.ndarray) -> None:
        """Draw what the agent sees."""
        rgb[:], depth[:] = self._call("look")

    def navigable_map(self) -> NavigableMap:
        """The floor that the agent stands on."""
        floor: NavigableMap = self._call("navigable_map")
        return floor

    def close(self) -> None:
        """Give back memory and graphics."""
        if self._process is not None:
            self._stop()

    def _call(self, name: str, *arguments: object) -> Any:
        """What `HabitatSim` answers, over there."""
        connection = self._connection or self._start()
        try:
            if name in self._asked[:1]:
                self._asked.pop(0)
            else:
                while self._asked:  # what nobody wants any more
                    connection.recv()
                    self._asked.pop(0)
                connection.send((name, arguments))
            fine, answer = connection.recv()
        except (EOFError, OSError) as error:
            raise RuntimeError(
                f"the process of habitat-sim ended with status {self._stop()}; its last words are in the log. Without "
                "any, look whether the graphics card can be used for drawing (EGL), not only for computing"
            ) from error
        except BaseException:
            self._stop()  # an answer may be on its way that the next question would take for its own
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
                env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},  # it finds what we find
            )
        self._connection = Connection(ours.detach())
        return self._connection

    def _stop(self) -> int:
        """Hang up, which ends the process; its status."""
        assert self._process is not None
        assert self._connection is not None
        self._connection.close()
        self._asked.clear()
        process, self._process, self._connection = self._process, None, None
        try:
            return process.wait(_SECONDS_TO_CLOSE)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


def serve(connection: Connection, simulator: HabitatSim) -> None:
    """Answer until the other side hangs up."""
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
    """The process: serves a simulator to the socket `descriptor`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one that started it, which then hangs up
    serve(Connection(int(descriptor)), HabitatSim(import_habitat_sim(), dataset, int(size), int(gpu_device)))


if __name__ == "__main__":
    main(*sys.argv[1:])

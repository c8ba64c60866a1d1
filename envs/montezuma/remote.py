"""VectorEnv in processes of their own: ALE keeps Python's lock while it emulates, so threads would not help.

The observations are in memory that both processes see; requests and the few numbers of an answer go through a socket.
The child ends when its parent does, because the socket then closes.
"""

from __future__ import annotations

import mmap
import os
import socket
import subprocess
import sys
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from bonuslab.envs.montezuma.group import GroupPlan
from bonuslab.envs.montezuma.spaces import observation_buffers
from bonuslab.envs.vector_env import EnvError, Observations

_CHILD = "bonuslab.envs.montezuma.emulator_process"
_SECONDS_TO_END = 5.0


class SharedObservations:
    """Arrays [N, ...] in memory that other processes can be given."""

    def __init__(self, num_envs: int, file: int | None = None) -> None:
        """New arrays, or those behind a `file` that another process has made."""
        empty = observation_buffers(num_envs)
        size = sum(rows.nbytes for rows in empty.values())
        self.num_envs = num_envs
        self.file = os.memfd_create("montezuma-environments") if file is None else file
        if file is None:
            os.ftruncate(self.file, size)
        memory = np.frombuffer(mmap.mmap(self.file, size), np.uint8)
        self.arrays: Observations = {}
        begin = 0
        for key, rows in empty.items():
            self.arrays[key] = memory[begin : begin + rows.nbytes].reshape(rows.shape)
            begin += rows.nbytes

    def envs(self, plan: GroupPlan) -> Observations:
        """The rows of the plan's environments."""
        rows = slice(plan.first_env, plan.first_env + len(plan.seeds))
        return {key: array[rows] for key, array in self.arrays.items()}

    def close(self) -> None:
        """Close the file; the memory is given back once nobody uses the arrays."""
        os.close(self.file)


class RemoteGroup:
    """A group that a child process plays."""

    def __init__(self, plan: GroupPlan, shared: SharedObservations) -> None:
        ours, theirs = socket.socketpair()
        self._envs = f"environments {plan.first_env} to {plan.first_env + len(plan.seeds) - 1}"
        with theirs:
            numbers = [str(number) for number in (theirs.fileno(), shared.file, shared.num_envs)]
            self._process = subprocess.Popen(
                [sys.executable, "-m", _CHILD, *numbers],
                pass_fds=[theirs.fileno(), shared.file],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        self._connection = Connection(ours.detach())
        self.send("start", plan)

    def send(self, method: str, argument: Any = None) -> None:
        """Ask the child."""
        try:
            self._connection.send((method, argument))
        except OSError as error:
            raise self._lost() from error

    def receive(self) -> Any:
        """Wait for the child's answer."""
        try:
            answer, failure = self._connection.recv()
        except (EOFError, OSError) as error:
            raise self._lost() from error
        if failure is not None:
            raise failure
        return answer

    def close(self) -> None:
        """End the child."""
        self._connection.close()
        try:
            self._process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _lost(self) -> EnvError:
        return EnvError(f"MontezumaRevenge: the process of {self._envs} is gone (status {self._process.poll()})")

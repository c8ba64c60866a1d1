"""Envs in child processes: ALE holds the GIL while it emulates, so threads would not help.

Observations are in shared memory; requests and the rest of each answer go through a socket. A child exits when its
parent does, because the socket closes.
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

from bonuslab.envs.atari.games import Game
from bonuslab.envs.atari.group import GroupSpec
from bonuslab.envs.atari.spaces import observation_buffers
from bonuslab.envs.vector_env import EnvError, Observations

_CHILD = "bonuslab.envs.atari.emulator_process"
_EXIT_SECONDS = 5.0


class SharedObservations:
    """Observations [N, ...] in memory shared with child processes."""

    def __init__(self, game: Game, num_envs: int, fd: int | None = None) -> None:
        """New arrays, or those behind the file descriptor of another process."""
        empty = observation_buffers(game, num_envs)
        size = sum(rows.nbytes for rows in empty.values())
        self.num_envs = num_envs
        self.fd = os.memfd_create("atari-observations") if fd is None else fd
        if fd is None:
            os.ftruncate(self.fd, size)
        memory = np.frombuffer(mmap.mmap(self.fd, size), np.uint8)
        self.arrays: Observations = {}
        begin = 0
        for key, rows in empty.items():
            self.arrays[key] = memory[begin : begin + rows.nbytes].reshape(rows.shape)
            begin += rows.nbytes

    def rows(self, spec: GroupSpec) -> Observations:
        """The rows of a group's envs."""
        rows = slice(spec.first_env, spec.first_env + len(spec.seeds))
        return {key: array[rows] for key, array in self.arrays.items()}

    def close(self) -> None:
        """Close the file; the memory is released once the arrays are gone."""
        os.close(self.fd)


class RemoteGroup:
    """A group of envs in a child process."""

    def __init__(self, spec: GroupSpec, shared: SharedObservations) -> None:
        ours, theirs = socket.socketpair()
        self._envs = f"{spec.game.name}: the process of envs {spec.first_env} to {spec.first_env + len(spec.seeds) - 1}"
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", _CHILD, spec.game.rom, *map(str, (theirs.fileno(), shared.fd, shared.num_envs))],
                pass_fds=[theirs.fileno(), shared.fd],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        self._connection = Connection(ours.detach())
        self.send("start", spec)

    def send(self, method: str, argument: Any = None) -> None:
        """Send a request to the child."""
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
        """Stop the child, by force if necessary."""
        self._connection.close()
        try:
            self._process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _lost(self) -> EnvError:
        return EnvError(f"{self._envs} died (status {self._process.poll()})")

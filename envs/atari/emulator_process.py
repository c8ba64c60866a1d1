"""The child process of `remote.RemoteGroup`: runs envs until its parent closes the connection."""

from __future__ import annotations

import pickle
import signal
import sys
from multiprocessing.connection import Connection

from bonuslab.envs.atari.games import find_game
from bonuslab.envs.atari.group import LocalGroup
from bonuslab.envs.atari.remote import SharedObservations
from bonuslab.envs.vector_env import EnvError


def main() -> None:
    """Handle the parent's requests."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    socket_fd, memory_fd, num_envs = map(int, sys.argv[2:])
    connection = Connection(socket_fd)
    shared = SharedObservations(find_game(sys.argv[1]), num_envs, memory_fd)
    group: LocalGroup | None = None
    while True:
        try:
            method, argument = connection.recv()
        except (EOFError, OSError):
            return
        answer, failure = None, None
        try:
            if method == "start":
                group = LocalGroup(argument, shared.rows(argument))
            else:
                assert group is not None
                group.send(method, argument)
                answer = group.receive()
        except Exception as error:
            failure = _picklable(error)
        connection.send((answer, failure))


def _picklable(error: Exception) -> Exception:
    try:
        return pickle.loads(pickle.dumps(error))
    except Exception:
        return EnvError(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()

"""The child process of `remote.RemoteGroup`: plays environments until its parent closes the connection."""

from __future__ import annotations

import pickle
import signal
import sys
from multiprocessing.connection import Connection

from bonuslab.envs.montezuma.group import LocalGroup
from bonuslab.envs.montezuma.remote import SharedObservations
from bonuslab.envs.vector_env import EnvError


def main() -> None:
    """Do what the parent asks for, request by request."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    connection_file, memory_file, num_envs = (int(argument) for argument in sys.argv[1:])
    connection = Connection(connection_file)
    shared = SharedObservations(num_envs, memory_file)
    group: LocalGroup | None = None
    while True:
        try:
            method, argument = connection.recv()
        except (EOFError, OSError):
            return
        answer, failure = None, None
        try:
            if method == "start":
                group = LocalGroup(argument, shared.envs(argument))
            else:
                assert group is not None
                group.send(method, argument)
                answer = group.receive()
        except Exception as error:
            failure = _sendable(error)
        connection.send((answer, failure))


def _sendable(error: Exception) -> Exception:
    try:
        return pickle.loads(pickle.dumps(error))
    except Exception:
        return EnvError(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()

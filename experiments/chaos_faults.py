"""The faults that `chaos.py` strikes small grids with."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import time
from contextlib import suppress
from pathlib import Path

import psutil

from bonuslab.experiments.chaos_command import POLL_SECONDS, Grid

KILLED = {
    "trial": "ray::GridTrial",
    "runner": "ray::FragmentRunner",
    "bonus actor": "ray::SharedBonus",
    "learner": "ray::DDPPOWorker",
    "relay": "ray::Relay",
    "tracker": "bonuslab.platform.tracking",
    "raylet": "raylet/raylet",
    "gcs": "gcs_server",
}
"""By fault, a part of the command line of the process that is killed."""
ONLY_IN = {"runner": "impala", "bonus actor": "impala", "learner": "ddppo"}
"""Grids that have the process."""
FAULTS = (
    *("driver", *KILLED, "terminated", "frozen", "few files", "disk full"),
    *("database deleted", "database damaged", "database locked"),
)
FROZEN_SECONDS = 30.0
OPEN_FILES = 256


def strike(fault: str, grid: Grid, chance: random.Random) -> bool:
    """Do what the fault's name says; whether there was something to break."""
    if fault in KILLED:
        found = grid.find(KILLED[fault])
        if found:
            chance.choice(found).kill()
        return bool(found)
    database = grid.folder.path / "mlflow.db"
    if fault.startswith("database") and not database.exists():
        return False
    if fault == "driver":
        grid.process.kill()
    elif fault == "terminated":
        os.killpg(grid.process.pid, signal.SIGTERM)
    elif fault == "frozen":
        victim = chance.choice(list(grid.processes()))
        victim.suspend()
        time.sleep(FROZEN_SECONDS)
        with suppress(psutil.NoSuchProcess):
            victim.resume()
    elif fault == "few files":
        grid.process.send_signal(signal.SIGINT)
        grid.wait()
        grid.start(OPEN_FILES)
    elif fault == "disk full":
        _fill(grid.folder.path.parent / "ballast", grid)
    elif fault == "database deleted":
        for file in database.parent.glob("mlflow.db*"):
            file.unlink()
    elif fault == "database damaged":
        with database.open("r+b") as store_file:
            store_file.write(chance.randbytes(4_096))
    elif fault == "database locked":
        try:
            with sqlite3.connect(database, timeout=60) as store:
                store.execute("begin exclusive")
                time.sleep(FROZEN_SECONDS)
        except sqlite3.DatabaseError:
            return False  # damaged by the fault before, or in use all the time
    return True


def _fill(ballast: Path, grid: Grid) -> None:
    """No room on the grid's disk for a while, or until its command ends."""
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while file.write(bytes(2**16)):
            pass
    deadline = time.monotonic() + FROZEN_SECONDS
    while grid.process.poll() is None and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    ballast.unlink()

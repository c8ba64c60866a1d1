"""The state of a trial; atomic writes of small files, and where damaged ones go."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import Literal

from bonuslab.algorithms.data.small_files import read_json, typed

Status = Literal["waiting", "running", "finished", "failed"]
MAX_BYTES = 2**20
STATUSES: tuple[Status, ...] = ("waiting", "running", "finished", "failed")


@dataclass
class TrialState:
    """Status and progress of a trial, without its rows. Only the grid's driver writes it."""

    status: Status = "waiting"
    env_steps: int = 0
    """Environment steps so far."""
    total_env_steps: int = 0
    wall_seconds: float = 0.0
    """Training time, without work that was lost."""
    attempts: int = 0
    error: str = ""
    """One line on why the last attempt failed; the traceback is in error.txt."""
    checkpoints: list[str] = field(default_factory=list)
    """Paths or URIs, oldest first."""
    updated: float = 0.0
    """Unix time of the last change."""
    resumed: str = ""
    """Where the last attempt resumed, and whether episodes in progress continued; empty if it began at step 0."""
    code: str = ""
    """Version and commit of bonuslab that trained it last; see `versions.this_code`."""

    @property
    def fraction_done(self) -> float:
        """Progress from 0 to 1."""
        if self.status == "finished":
            return 1.0
        return min(1.0, self.env_steps / self.total_env_steps) if self.total_env_steps else 0.0

    @property
    def steps_per_second(self) -> float:
        """Mean over the training time; 0 before the first row."""
        return self.env_steps / self.wall_seconds if self.wall_seconds else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Estimated from the mean speed; None before the first row."""
        if self.status == "finished":
            return 0.0
        speed = self.steps_per_second
        return (self.total_env_steps - self.env_steps) / speed if speed else None

    @classmethod
    def read(cls, path: Path) -> TrialState:
        """Read a state file; a trial without one is waiting, a damaged one raises `DamagedFile`."""
        try:
            return typed(cls, read_json(path, MAX_BYTES), path)
        except FileNotFoundError:
            return cls()

    def write(self, path: Path) -> None:
        """Replace the file atomically."""
        self.updated = time.time()
        write_text(path, json.dumps(asdict(self), indent=1) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a small file atomically and durably: complete or not at all, even after a power cut."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """`write_text` for bytes."""
    building = path.with_name(f".{path.name}.building")
    with building.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(building, path)


def set_aside(path: Path) -> str:
    """Rename a file; returns its new name, which nothing had before."""
    endings = chain([""], (f"-{number}" for number in count(2)))
    names = (path.with_name(f"{path.name}.damaged{ending}") for ending in endings)
    target = next(name for name in names if not os.path.lexists(name))
    if os.path.lexists(path):
        os.rename(path, target)
    return target.name

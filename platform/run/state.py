"""Where a trial of a grid stands: the small file that says so, and how it is written."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

Status = Literal["waiting", "running", "finished", "failed"]
STATUSES: tuple[Status, ...] = ("waiting", "running", "finished", "failed")


@dataclass
class TrialState:
    """What is known of a trial without reading its rows. Only the grid's driver writes it."""

    status: Status = "waiting"
    env_steps: int = 0
    """Environment steps in its rows."""
    total_env_steps: int = 0
    """Where it ends."""
    wall_seconds: float = 0.0
    """Time spent training, over all attempts whose work was kept."""
    attempts: int = 0
    """How often it was started."""
    error: str = ""
    """One line: why its last attempt failed. The traceback is in error.txt."""
    checkpoints: list[str] = field(default_factory=list)
    """Places of the checkpoints that are kept, oldest first: paths or URIs."""
    updated: float = 0.0
    """Unix time of the last change."""

    @property
    def share_done(self) -> float:
        """From 0 to 1."""
        if self.status == "finished":
            return 1.0
        return min(1.0, self.env_steps / self.total_env_steps) if self.total_env_steps else 0.0

    @property
    def steps_per_second(self) -> float:
        """Mean over the time spent training; 0 before the first row."""
        return self.env_steps / self.wall_seconds if self.wall_seconds else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Predicted from its own mean speed; None where nothing is known yet."""
        if self.status == "finished":
            return 0.0
        speed = self.steps_per_second
        return (self.total_env_steps - self.env_steps) / speed if speed else None

    @classmethod
    def read(cls, path: Path) -> TrialState:
        """The state in a file; a trial without one has not begun."""
        try:
            values: dict[str, Any] = json.loads(path.read_text())
        except FileNotFoundError:
            return cls()
        known = {item.name for item in fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in known})

    def write(self, path: Path) -> None:
        """Replace the file in one step, so that a reader never sees half of it."""
        self.updated = time.time()
        write_text(path, json.dumps(asdict(self), indent=1) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a small file so that it is there whole or not at all, also after a power cut."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """The same for any content."""
    building = path.with_name(f".{path.name}.building")
    with building.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(building, path)

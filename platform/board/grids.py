"""The grids a board shows: one that was named, or all below a folder."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.board.grid_watch import GridWatch
from bonuslab.platform.run.folder import grids_below


class Grids:
    """Grids by name, found anew whenever they are asked for, since grids come and go."""

    def __init__(self, root: Path, only: str | None = None) -> None:
        self._root = root
        self._only = only
        self._watches: dict[str, GridWatch] = {}
        self._lock = threading.Lock()

    def watch(self, name: str) -> GridWatch | None:
        """One of the grids; only names that were found on disk, or were given, lead to a folder."""
        with self._lock:
            if name not in self._watches and name in self.names():
                self._watches[name] = GridWatch(self._root / name)
            return self._watches.get(name)

    def names(self) -> list[str]:
        """The grids there are, the one touched last first."""
        return [self._only] if self._only is not None else [path.name for path in grids_below(self._root)]

    def index(self) -> list[dict[str, Any]]:
        """A line on every grid; of one that cannot be read, why."""
        lines = []
        for name in self.names():
            watch = self.watch(name)
            try:
                lines.append({"id": name} | (watch.summary() if watch else {}))
            except InvalidInput as error:
                lines.append({"id": name, "problem": str(error)})
        return lines

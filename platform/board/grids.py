"""The grids a board shows: one that was named, or all below a folder."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.board.grid_watch import GridWatch
from bonuslab.platform.run.find import grids_below


class Grids:
    """Grids by name, looked up on every request, since grids come and go."""

    def __init__(self, root: Path, only: str | None = None) -> None:
        self._root = root
        self._only = only
        self._watches: dict[str, GridWatch] = {}
        self._lock = threading.Lock()

    def watch(self, name: str) -> GridWatch | None:
        """One of the grids; only names found on disk or given at the start lead to a folder."""
        with self._lock:
            if name not in self._watches and name in self.names():
                self._watches[name] = GridWatch(self._root / name)
            return self._watches.get(name)

    def names(self) -> list[str]:
        """All grids, the most recently changed first."""
        return [self._only] if self._only is not None else [path.name for path in grids_below(self._root)]

    def index(self) -> list[dict[str, Any]]:
        """An entry per grid; of one that cannot be read, the reason."""
        lines = []
        for name in self.names():
            watch = self.watch(name)
            try:
                lines.append({"id": name} | (watch.summary() if watch else {}))
            except InvalidInput as error:
                lines.append({"id": name, "problem": str(error)})
        return lines

"""One trial as the board sees it: its state and metrics, read again only when its files change."""

from __future__ import annotations

import os
from pathlib import Path
from stat import S_ISREG
from typing import Any

from bonuslab.algorithms.data.small_files import DamagedFile
from bonuslab.algorithms.rllib.metrics import find
from bonuslab.platform.board.recent_rows import RecentRows
from bonuslab.platform.run.folder import TrialFolder
from bonuslab.platform.run.redaction import redacted
from bonuslab.platform.run.results import RETURN, WIN_RATE
from bonuslab.platform.run.state import TrialState

SPEED = "env_steps_per_second"
UNREADABLE = "unreadable"
"""Status of a trial whose state.json is damaged."""
LONGEST_ERROR = 300

Stamp = tuple[int, int, int] | None
"""Changes with a file: its inode, size and time."""


def stamp(path: Path | str) -> Stamp:
    """The present stamp of a file; None where there is none, or a link, which may lead to somebody else's file."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if not S_ISREG(found.st_mode):
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


class TrialWatch:
    """State and present metrics of one trial."""

    def __init__(self, folder: TrialFolder, metric: str, fewest: int = 0) -> None:
        """`fewest` episodes must have ended before results of training are shown."""
        self.folder = folder
        self.state = TrialState()
        self.problem = ""
        """Why the state cannot be read."""
        self.speed: float | None = None
        """Recent environment steps per second, or else the mean."""
        # Until a trial has the grid's metric, the nearest it has.
        self._headlines = tuple(dict.fromkeys((metric, WIN_RATE, RETURN)))
        self._rows = RecentRows(folder.progress, tuple(dict.fromkeys((metric, WIN_RATE, RETURN, SPEED))), fewest)
        # Strings, because building a Path costs more than a stat.
        self._state_file, self._progress = str(folder.state_file), str(folder.progress)
        self._folders = (str(folder.path), str(folder.path.parent))
        self._seen_state: Stamp = None
        self._seen_progress: Stamp = None
        self._rows_seen = False

    def refresh(self, rows: bool = True) -> bool:
        """Read what changed; whether anything did. Rows are read for running trials and after a change of state."""
        changed = False
        if self.is_linked():
            changed, self.problem = not self.problem, "its folder is a link, which the board does not follow"
            return changed
        now = stamp(self._state_file)
        if now != self._seen_state:
            self._seen_state, self._rows_seen, changed = now, False, True
            self._read_state()
        if rows and (self.status == "running" or not self._rows_seen):
            self._rows_seen = True
            if (now := stamp(self._progress)) != self._seen_progress:
                self._seen_progress, changed = now, True
                self._rows.refresh()
        if changed:
            self.speed = self._rows.value(SPEED) or self.state.steps_per_second or None
        return changed

    def is_linked(self) -> bool:
        """Whether its folder is a link, which may lead outside the grid."""
        return any(map(os.path.islink, self._folders))

    @property
    def status(self) -> str:
        """One of `state.STATUSES`, or `UNREADABLE`."""
        return UNREADABLE if self.problem else self.state.status

    def headline(self) -> tuple[str, float | None]:
        """The column that the trial is judged by, or the nearest it has, and its value."""
        values = ((column, self._rows.value(column)) for column in self._headlines)
        return next((found for found in values if found[1] is not None), (self._headlines[0], None))

    def cell(self) -> dict[str, Any]:
        """The trial's cell of the heat map."""
        state = self.state
        unfinished = self.status in ("running", "waiting")
        column, value = self.headline()
        return {
            "id": self.folder.id,
            "status": self.status,
            "share": _short(state.fraction_done),
            "steps": state.env_steps,
            "total": state.total_env_steps,
            "seconds": _short(state.wall_seconds),
            "left": _short(state.seconds_left) if unfinished else None,
            "speed": _short(self.speed) if self.status == "running" else _short(state.steps_per_second),
            "column": column,
            "label": find(column).label,
            "metric": _short(value),
            "return": _short(self._rows.value(RETURN)),
            "attempts": state.attempts,
            "error": self.problem or redacted(state.error)[:LONGEST_ERROR],
        }

    def _read_state(self) -> None:
        try:
            self.state, self.problem = TrialState.read(self.folder.state_file), ""
        except DamagedFile as error:
            self.state, self.problem = TrialState(), f"state.json cannot be read: {error}"


def _short(value: float | None) -> float | None:
    """Four digits are all that is shown."""
    return None if value is None else float(f"{value:.4g}")

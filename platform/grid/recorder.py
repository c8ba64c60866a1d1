"""The records of all trials of a grid; what cannot be written is kept in memory and tried again."""

from __future__ import annotations

import time

from bonuslab.platform.run.folder import GridFolder
from bonuslab.platform.run.record import TrialRecord
from bonuslab.platform.run.state import TrialState


class Recorder:
    """All trials of a grid. Only the driver has one, under the grid's lock."""

    def __init__(self, folder: GridFolder) -> None:
        self._records = {trial.id: TrialRecord(trial) for trial in folder.trials()}
        self.problem: OSError | None = None
        """Why the last attempt to write failed."""
        self.failing_since: float | None = None
        """When writing began to fail, on the monotonic clock."""

    def __getitem__(self, trial: str) -> TrialRecord:
        return self._records[trial]

    def states(self) -> dict[str, TrialState]:
        """Where every trial stands."""
        return {trial: record.state for trial, record in self._records.items()}

    def write(self) -> bool:
        """Write everything that is not on disk yet; whether all of it is there now."""
        problem = None
        for record in self._records.values():
            try:
                record.write()
            except OSError as error:
                problem = error
        self.problem = problem
        if problem is None:
            self.failing_since = None
        elif self.failing_since is None:
            self.failing_since = time.monotonic()
        return problem is None

"""The records of all trials of a grid; what cannot be written is kept in memory and retried."""

from __future__ import annotations

import threading
import time

from bonuslab.platform.run.folder import GridFolder
from bonuslab.platform.run.record import TrialRecord
from bonuslab.platform.run.results import fewest_episodes
from bonuslab.platform.run.state import TrialState


class Recorder:
    """All trials of a grid. Only the driver, which holds the grid's lock, may have one."""

    def __init__(self, folder: GridFolder) -> None:
        self._records = {
            trial.id: TrialRecord(folder.trial(trial.id), fewest_episodes(trial.hyperparameters))
            for trial in folder.description().trials
        }
        self.problem: OSError | None = None
        """Why the last attempt to write failed."""
        self.failing_since: float | None = None
        """When writing started to fail, by the monotonic clock."""
        self._writing = threading.Lock()  # `ending_with_ray` writes from a thread of its own

    def __getitem__(self, trial: str) -> TrialRecord:
        return self._records[trial]

    def states(self) -> dict[str, TrialState]:
        """The state of every trial."""
        return {trial: record.state for trial, record in self._records.items()}

    def write(self) -> bool:
        """Write everything that is not on disk yet; returns whether that succeeded."""
        problem = None
        with self._writing:
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

"""Pictures of trained policies: one episode per bonus."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from bonuslab.platform.report.trial_results import GridResults, Trial
from bonuslab.platform.run.folder import GridFolder

MOST = 12
"""Pictures on the page; every trial's own is in its folder."""


@dataclass(frozen=True)
class Episode:
    """The picture of one trial's trained policy."""

    trial: Trial
    address: str
    """A data URL: the page needs no other file."""


def episodes(folder: GridFolder, results: GridResults) -> list[Episode]:
    """The first trial with a picture of each bonus on each task, at most `MOST`, in the grid's order."""
    chosen: dict[tuple[str, str], Episode] = {}
    for unit in results.units:
        for trial in results.trials:
            picture = folder.trial(trial.id).summary
            key = (unit, trial.method)
            if len(chosen) < MOST and trial.unit == unit and key not in chosen and picture.is_file():
                data = base64.b64encode(picture.read_bytes()).decode()
                chosen[key] = Episode(trial, f"data:image/png;base64,{data}")
    return list(chosen.values())

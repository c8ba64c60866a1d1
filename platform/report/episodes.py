"""Pictures of what trained policies do: one episode of each bonus."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from bonuslab.platform.report.trial_results import GridResults, Trial
from bonuslab.platform.run.folder import GridFolder

MOST = 12
"""Pictures on a page; every trial's is in its folder."""


@dataclass(frozen=True)
class Episode:
    """The picture of one trial's trained policy."""

    trial: Trial
    address: str
    """A data address: the page needs no other file."""


def episodes(folder: GridFolder, results: GridResults) -> list[Episode]:
    """Of each bonus on each task the first trial that has a picture, the first `MOST` in the grid's order."""
    chosen: dict[tuple[str, str], Episode] = {}
    for unit in results.units:
        for trial in results.trials:
            picture = folder.trial(trial.id).summary
            key = (unit, trial.method)
            if len(chosen) < MOST and trial.unit == unit and key not in chosen and picture.is_file():
                data = base64.b64encode(picture.read_bytes()).decode()
                chosen[key] = Episode(trial, f"data:image/png;base64,{data}")
    return list(chosen.values())

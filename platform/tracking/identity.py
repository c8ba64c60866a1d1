"""The ids by which a grid's runs are found again, in whatever store, wherever its folder has gone."""

from __future__ import annotations

import hashlib
import json

from bonuslab.platform.run.folder import GridDescription

GRID_TRACKING = "tracking.json"
"""In the grid's folder: the grid's own run in each store."""


def grid_identity(description: GridDescription) -> str:
    """The id that the grid was given when it was begun. Its name is not enough: two grids may share it in one store."""
    given = description.options.get("id")
    if given:
        return str(given)
    begun = [description.name, *description.commands[:1]]
    return hashlib.sha256(json.dumps(begun, sort_keys=True).encode()).hexdigest()[:12]


def trial_identity(description: GridDescription, trial: str) -> str:
    """The id of a trial; one that was begun anew with other settings is another trial."""
    generation = description.options.get("generations", {}).get(trial)
    return trial if generation is None else f"{trial}.{generation}"

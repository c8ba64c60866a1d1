"""The id by which a grid's runs are found in any store, even if its folder has moved."""

from __future__ import annotations

import hashlib
import json

from bonuslab.platform.run.folder import GridDescription

GRID_TRACKING = "tracking.json"
"""In the grid's folder: the grid's own run in each store."""


def grid_identity(description: GridDescription) -> str:
    """The id given to the grid when it was started; two grids in one store may share a name."""
    given = description.options.get("id")
    if given:
        return str(given)
    start = [description.name, *description.commands[:1]]
    return hashlib.sha256(json.dumps(start, sort_keys=True).encode()).hexdigest()[:12]

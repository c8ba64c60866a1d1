"""A search asked for by tasks and bonuses, as on the command line and in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bonuslab.algorithms.bonuses import parse
from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.grid.experiment import Scale
from bonuslab.platform.grid.search_session import SearchSession
from bonuslab.platform.grid.search_space import Search


def requested(
    search: Search,
    tasks: Sequence[str],
    bonuses: Sequence[str],
    contexts: Sequence[str],
    settings: Mapping[str, Any],
    study_seeds: Sequence[int],
    path: Path,
    options: Mapping[str, Any],
) -> SearchSession:
    """Validate everything; nothing starts before `plan` or `run`."""
    scale = Scale("", tasks, bonuses, [search.seeds[0]], contexts, settings=settings)
    trials = scale.trials()
    for bonus in bonuses:
        if parse(bonus).scope == "none":
            raise InvalidInput(f"bonus {bonus} has nothing to search; leave it out")
    return SearchSession(path.name, "all", search, scale, trials, study_seeds, path, options)

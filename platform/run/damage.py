"""Reports damaged files of a grid to its readers, and changes nothing; see `repair.py` for the grid's owner."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.run.folder import GRID_FILE, TRIAL_FILE, GridFolder, TrialFolder
from bonuslab.platform.run.rows import rows_problem
from bonuslab.platform.run.state import TrialState


def name_damage(folder: GridFolder) -> None:
    """Tell the user which files of a grid are damaged, in one sentence each."""
    problems = grid_damage(folder)
    for trial in folder.trials():
        problems |= trial_damage(trial)
    for problem in problems.values():
        print(f"bonuslab: {problem}", file=sys.stderr)


def grid_damage(folder: GridFolder) -> dict[Path, str]:
    """grid.json, and what is wrong with it, if something is."""
    return _damage(folder.path / GRID_FILE, lambda: folder.read_description(GRID_FILE))


def trial_damage(trial: TrialFolder) -> dict[Path, str]:
    """The damaged files of a trial, and what is wrong with each."""
    file = trial.path / TRIAL_FILE
    found = _damage(file, trial.own_description) if os.path.lexists(file) else {}
    found |= _damage(trial.state_file, lambda: TrialState.read(trial.state_file))
    problem = rows_problem(trial.progress)
    return found | ({trial.progress: f"{trial.progress} cannot be read: {problem}"} if problem else {})


def _damage(path: Path, read: Callable[[], object]) -> dict[Path, str]:
    try:
        read()
    except (InvalidInput, FileNotFoundError) as error:
        return {path: str(error)}
    return {}

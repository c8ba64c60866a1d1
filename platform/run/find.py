"""Finds a run, grid or trial by folder or name."""

from __future__ import annotations

from dataclasses import dataclass
from os.path import expanduser
from pathlib import Path

from bonuslab.envs.errors import InvalidInput, unknown
from bonuslab.platform.run.folder import GRID_FILE, TRIAL_FILE, TRIALS, GridFolder, TrialFolder

RUNS = Path("runs")
OLD_RUN_FILE = "run.json"
"""In folders of `bonuslab train` before version 0.2."""


@dataclass(frozen=True)
class Found:
    """A grid, and a trial if one was named or the grid has only one."""

    grid: GridFolder
    trial: TrialFolder | None

    def require_trial(self) -> TrialFolder:
        """The trial; an error if the grid has several."""
        if self.trial is not None:
            return self.trial
        names = [trial.id for trial in self.grid.trials()]
        shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        raise InvalidInput(f"{self.grid.path} has {len(names)} trials; choose one: {shown}")


def grids_below(root: Path = RUNS) -> list[Path]:
    """Grid folders directly below `root`, most recently used first."""
    if not root.is_dir():
        return []
    found = [path.parent for path in root.glob(f"*/{GRID_FILE}")]
    return sorted(found, key=lambda path: path.joinpath(GRID_FILE).stat().st_mtime, reverse=True)


def find(given: str | Path | None, root: Path = RUNS) -> Found:
    """Find a folder or a name below `root` (`grid`, `trial` or `grid/trial`); None means the newest grid."""
    if given is None:
        newest = grids_below(root)
        if not newest:
            raise InvalidInput(f"there is no run below {root}/ yet; start one with `bonuslab train` or `bonuslab grid`")
        return _grid(newest[0])
    text = str(given)
    for path in (Path(expanduser(text)), root / text):
        if (path / GRID_FILE).exists():
            return _grid(path)
        if (path / TRIAL_FILE).exists():
            return _trial(path)
        if (path / OLD_RUN_FILE).exists():
            raise InvalidInput(f"{path} was written by bonuslab 0.1, which this version cannot read; train again")
    grid, _, trial = text.rpartition("/")
    below = [Path(expanduser(grid)), root / grid] if grid else grids_below(root)
    for path in below:
        if trial and (path / TRIALS / trial / TRIAL_FILE).exists():
            return _trial(path / TRIALS / trial)
    if Path(expanduser(text)).exists():
        raise InvalidInput(f"{text} is not a run folder: it has neither {GRID_FILE} nor {TRIAL_FILE}")
    trials = [
        path.parent.name for grid_path in grids_below(root) for path in grid_path.glob(f"{TRIALS}/*/{TRIAL_FILE}")
    ]
    raise unknown("run", text, [*(path.name for path in grids_below(root)), *trials] or ["(none yet)"])


def find_grid(given: str | Path | None, root: Path = RUNS) -> GridFolder:
    """Find a grid; a trial stands for its grid."""
    return find(given, root).grid


def _grid(path: Path) -> Found:
    grid = GridFolder.open(path)
    trials = grid.trials()
    return Found(grid, trials[0] if len(trials) == 1 else None)


def _trial(path: Path) -> Found:
    return Found(GridFolder.open(path.resolve().parent.parent), TrialFolder(path))

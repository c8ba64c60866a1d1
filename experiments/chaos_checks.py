"""What a broken grid must still have when its command has finished it, and what must be gone."""

from __future__ import annotations

import csv
import fcntl
import os
import sqlite3
from collections import defaultdict
from pathlib import Path

from bonuslab.platform.run.folder import GridFolder
from bonuslab.platform.run.rows import STEPS
from bonuslab.platform.run.state import TrialState
from bonuslab.platform.run.training import read_checkpoint_rows
from bonuslab.platform.tracking.run_description import KIND, TRIAL_ID

SHARED_MEMORY = Path("/dev/shm")
TRACKED = ("env_steps", "iteration", "wall_seconds")
"""Compared with MLflow; the last one tells a trial's attempts apart."""
Finished = dict[str, tuple[bytes, TrialState]]
"""Rows and state of trials by their id."""


def finished_trials(folder: GridFolder) -> Finished:
    """The trials that no later fault may change; none before the grid's description is written."""
    if not (folder.path / "grid.json").exists():
        return {}
    found = {trial.id: (trial.progress, trial.state()) for trial in folder.trials()}
    return {name: (rows.read_bytes(), state) for name, (rows, state) in found.items() if state.status == "finished"}


def loss(folder: GridFolder, before: Finished) -> str:
    """What a finished grid lacks or has twice, in words; empty if nothing. `before`: trials that had ended earlier."""
    now = finished_trials(folder)
    tracked = tracked_rows(folder.path / "mlflow.db")
    for trial in folder.trials():
        if trial.id not in now:
            return f"{trial.id} is {trial.state().status}"
        if trial.id in before and now[trial.id] != before[trial.id]:
            return f"{trial.id} was finished and has changed"
        with trial.progress.open(newline="") as file:
            rows = [tuple(float(row[name]) for name in TRACKED) for row in csv.DictReader(file)]
        steps = [row[0] for row in rows]
        if steps != sorted(set(steps)) or steps[-1] < trial.description().total_env_steps:
            return f"{trial.id} has the steps {steps}"
        own = [float(row[STEPS]) for row in read_checkpoint_rows(Path(trial.state().checkpoints[-1]))]
        if steps != own:
            return f"{trial.id} has the steps {steps}, its checkpoint {own}"
        runs = tracked.pop(trial.id, [])
        if len(runs) != 1:
            return f"{trial.id} has {len(runs)} runs in MLflow"
        if runs[0] != rows:
            return f"{trial.id} has {len(rows)} rows, MLflow has {len(runs[0])}, {len(set(rows) & set(runs[0]))} alike"
    return f"MLflow has trials that the grid lacks: {', '.join(tracked)}" if tracked else ""


def tracked_rows(database: Path) -> dict[str, list[list[tuple[float, ...]]]]:
    """The rows of every run of a trial in MLflow's database, by trial; deleted runs do not count."""
    points: dict[tuple[str, str], dict[str, list[tuple[int, float]]]] = {}
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as store:
        for run, trial in store.execute(
            "select r.run_uuid, t.value from runs r join tags t on t.run_uuid = r.run_uuid and t.key = ? "
            "join tags k on k.run_uuid = r.run_uuid and k.key = ? and k.value = 'trial' "
            "where r.lifecycle_stage = 'active'",
            (TRIAL_ID, KIND),
        ):
            points[trial, run] = {name: [] for name in TRACKED}
        for run, key, step, value in store.execute("select run_uuid, key, step, value from metrics order by step"):
            for (_, known), columns in points.items():
                if known == run and key in columns:
                    columns[key].append((step, value))
    found: dict[str, list[list[tuple[float, ...]]]] = defaultdict(list)
    for (trial, _), columns in points.items():
        # Points of one row have its step; a column with more or fewer of them shows as rows of another length.
        steps = sorted({step for column in columns.values() for step, _ in column})
        rows = [[value for column in columns.values() for at, value in column if at == step] for step in steps]
        found[trial].append([tuple(row) for row in rows])
    return found


def shared_memory() -> set[str]:
    """Names in /dev/shm."""
    return set(os.listdir(SHARED_MEMORY)) if SHARED_MEMORY.is_dir() else set()


def abandoned(names: set[str]) -> list[str]:
    """Those folders of games that no living process holds; other programs' may come and go."""
    return sorted(name for name in names if _is_abandoned(SHARED_MEMORY / name))


def _is_abandoned(path: Path) -> bool:
    try:
        with (path / "alive").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True

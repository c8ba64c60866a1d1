"""tracking.json: a trial's run in each MLflow store, and what has been delivered."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from bonuslab.algorithms.data.small_files import DamagedFile, read_json
from bonuslab.platform.run.folder import GridFolder
from bonuslab.platform.run.state import write_text
from bonuslab.platform.tracking.store import Store
from bonuslab.platform.tracking.tail import Tail, whole_table


@dataclass
class Cursor:
    """What one store has of one trial, or of the grid itself."""

    run_id: str = ""
    experiment_id: str = ""
    delivered: str = ""
    """Which rows it has (`Delivered.text`)."""
    checked: str = ""
    """The rows that were read back from it and found equal to the trial's."""
    certain: bool = True
    """Whether nothing suggests that it has others than the delivered rows."""
    mlflow_status: str = ""
    status: str = ""
    described: bool = False
    """Whether the parameters were delivered."""
    artifacts: dict[str, str] = field(default_factory=dict)
    """Signature of each delivered artifact."""


def read_tracking(path: Path) -> dict[str, Any]:
    """The content of a tracking.json; empty if it is unreadable, since the store itself knows what it has."""
    try:
        values = read_json(path)
    except (DamagedFile, FileNotFoundError):
        return {}
    return values if isinstance(values, dict) else {}


def read_cursor(path: Path, key: str) -> Cursor:
    """The cursor of the store with this `Store.key` in a tracking.json; empty if there is none."""
    values = _stores(read_tracking(path)).get(key)
    if not isinstance(values, dict):
        return Cursor()
    kinds = {item.name: type(getattr(Cursor(), item.name)) for item in fields(Cursor)}
    return Cursor(**{name: value for name, value in values.items() if type(value) is kinds.get(name)})


def write_cursor(path: Path, key: str, cursor: Cursor) -> None:
    """Replace one store's cursor if it changed, and keep the rest of the file."""
    values = read_tracking(path)
    stores = values["stores"] = _stores(values)
    if stores.get(key) != asdict(cursor):
        stores[key] = asdict(cursor)
        write_text(path, json.dumps(values, indent=1) + "\n")


def _stores(values: dict[str, Any]) -> dict[str, Any]:
    stores = values.get("stores")
    return stores if isinstance(stores, dict) else {}


@dataclass(frozen=True)
class Undelivered:
    """What is in a grid's files but not yet in a store."""

    trials: int = 0
    rows: int = 0

    def __bool__(self) -> bool:
        return self.trials > 0


def undelivered(folder: GridFolder, store: Store) -> Undelivered:
    """Trials with rows or a status that the store lacks, according to the files alone."""
    trials = all_rows = 0
    for trial in folder.trials():
        cursor = read_cursor(trial.tracking_file, store.key)
        state = trial.state()
        waiting = Tail(trial.progress).waiting(cursor.delivered)
        begun = state.status != "waiting" or state.attempts > 0
        trials += waiting is None or bool(waiting) or (begun and state.status != cursor.status)
        # A store that has other rows than the trial lacks all of them.
        all_rows += len(whole_table(trial.progress) if waiting is None else waiting)
    return Undelivered(trials, all_rows)

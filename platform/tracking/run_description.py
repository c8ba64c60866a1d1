"""A grid and its trials in MLflow's terms: names, tags and parameters of runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bonuslab.platform.pictures.palette import SCOPE_COLOURS, shown_scope
from bonuslab.platform.run.folder import GridDescription, TrialDescription
from bonuslab.platform.run.redaction import redacted
from bonuslab.platform.run.state import TrialState

GRID_ID = "bonuslab.grid_id"
TRIAL_ID = "bonuslab.trial_id"
KIND = "bonuslab.kind"
"""Tags that identify runs; the kind is `grid` or `trial`."""
GRID_RUN = "bonuslab.grid_run"
"""The grid's own run. MLflow's tag for a parent run would add that run to every legend."""
ROWS = "bonuslab.rows"
"""Which rows the run has (`Delivered.text`)."""
ATTEMPT = "attempt"
"""1, or more if earlier runs of the trial were withdrawn."""
WITHDRAWN = "bonuslab.withdrawn"
"""Why a run was deleted."""
STATUS = "status"
SERIES = "series"
"""Trials that MLflow's charts draw as one line: `combined: e3b * rnd`."""

_LONGEST_PARAMETER = 6_000
_LONGEST_NAME = 250
_LONGEST_TAG = 5_000
_NOT_IN_A_NAME = re.compile(r"[^\w\-. :/]")


def experiment_name(description: GridDescription) -> str:
    """MLflow's experiment: all grids of one experiment of ours, so that they can be compared."""
    return f"bonuslab/{description.experiment}"


def trial_name(trial: TrialDescription) -> str:
    """A readable name of the trial: `e3b * rnd · MultiRoom-N6-S5 · seed 0`."""
    labels = trial.labels
    contexts = labels.get("contexts", "")
    parts = [
        labels.get("bonus", ""),
        labels.get("task", ""),
        f"{contexts} contexts" if contexts not in ("", "inf") else "",
        labels.get("variant", ""),
        f"seed {labels['seed']}" if "seed" in labels else "",
    ]
    return " · ".join(part for part in parts if part) or trial.id


def series(trial: TrialDescription) -> str:
    """What distinguishes compared trials: scope, bonus and variant, if any."""
    labels = trial.labels
    scope, bonus, variant = labels.get("scope", ""), labels.get("bonus", ""), labels.get("variant", "")
    name = bonus if bonus == scope else f"{scope}: {bonus}"
    return f"{name} ({variant})" if variant else name


def grid_tags(description: GridDescription, grid_id: str) -> dict[str, str]:
    """Tags of the run that represents the whole grid."""
    command = str(description.commands[-1].get("command", "")) if description.commands else ""
    return _tags({**_shared(description, grid_id), KIND: "grid", "command": command})


def trial_tags(
    description: GridDescription, trial: TrialDescription, grid_id: str, trial_id: str, grid_run: str
) -> dict[str, str]:
    """Tags of one trial's run."""
    own = {KIND: "trial", TRIAL_ID: trial_id, GRID_RUN: grid_run, SERIES: series(trial)}
    scope = shown_scope(trial.labels.get("bonus", ""), trial.labels.get("scope", ""))
    if scope in SCOPE_COLOURS:
        own["mlflow.runColor"] = SCOPE_COLOURS[scope]
    return _tags({**trial.labels, **_shared(description, grid_id), **own})


def parameters(trial: TrialDescription) -> dict[str, str]:
    """The trial's configuration with all hyperparameters, flattened: `preset`, `hyperparameters.lr`, …"""
    return {
        _name(name): redacted(str(value))[:_LONGEST_PARAMETER]
        for name, value in _flattened({**trial.config, "hyperparameters": trial.hyperparameters})
        if value is not None and value != ""
    }


def metric_name(column: str) -> str:
    """The column of progress.csv with the characters that MLflow allows."""
    return _name(column)


def run_status(state: TrialState, driven: bool) -> str | None:
    """MLflow's status of a trial, None before its first attempt; without a driver nothing is running."""
    if state.status == "finished":
        return "FINISHED"
    if state.status == "failed":
        return "FAILED"
    if state.status == "waiting" and state.attempts == 0:
        return None
    if not driven:
        return "KILLED"
    return "RUNNING" if state.status == "running" else "SCHEDULED"


def grid_status(states: list[TrialState], driven: bool) -> str:
    """MLflow's status of a grid."""
    statuses = {state.status for state in states}
    if statuses & {"running", "waiting"}:
        return "RUNNING" if driven else "KILLED"
    return "FAILED" if "failed" in statuses else "FINISHED"


def _shared(description: GridDescription, grid_id: str) -> dict[str, str]:
    commit = str(description.commands[-1].get("git_commit") or "") if description.commands else ""
    return {
        GRID_ID: grid_id,
        "grid": description.name,
        "experiment": description.experiment,
        "scale": description.scale,
        "git_commit": commit,
        "mlflow.source.git.commit": commit,
    }


def _tags(values: Mapping[str, str]) -> dict[str, str]:
    return {_name(name): redacted(str(value))[:_LONGEST_TAG] for name, value in values.items() if str(value)}


def _flattened(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flattened(value, f"{prefix}{name}.")
        elif isinstance(value, list | tuple):
            yield f"{prefix}{name}", ", ".join(str(item) for item in value)
        else:
            yield f"{prefix}{name}", value


def _name(text: str) -> str:
    return _NOT_IN_A_NAME.sub("_", text)[:_LONGEST_NAME]

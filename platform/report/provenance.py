"""The origin of the results: commands, commits, versions, configuration, hardware and time."""

from __future__ import annotations

import json
import shlex
import time
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from bonuslab.platform.report.trial_results import GridResults
from bonuslab.platform.run.folder import GridDescription
from bonuslab.platform.run.redaction import redacted

REPORT_PACKAGES = ("bonuslab", "numpy", "matplotlib")
_HARDWARE = ("hardware", "machine")
_SHOWN = ("command", "time", "git_commit", "versions", *_HARDWARE)


@dataclass(frozen=True)
class Command:
    """One command that worked on the grid."""

    text: str
    time: str
    commit: str
    further: list[str]
    """Whatever else the driver recorded about it."""


@dataclass(frozen=True)
class Provenance:
    """What a reader needs to reproduce the grid."""

    commands: list[Command]
    versions: dict[str, str]
    """Of the last command."""
    versions_differ: bool
    hardware: list[str]
    same: dict[str, str]
    """Settings that all trials share."""
    varied: dict[str, list[str]]
    """Settings that trials differ in, and their values."""
    options: dict[str, str]
    """Other options of the grid, such as the place of checkpoints and tracking."""
    trial_hours: float
    first_command: str
    last_update: str
    speeds: dict[str, float]
    """Environment steps per second by method, mean over its trials."""
    written: str
    report_versions: dict[str, str]


def provenance(results: GridResults) -> Provenance:
    """The provenance in the grid's files."""
    records = results.description.commands
    settings = [
        {name: value for name, value in about.config.items() if name != "hyperparameters"} | about.hyperparameters
        for about in (trial.description for trial in results.trials)
    ]
    values = {
        name: list(dict.fromkeys(_text(one.get(name)) for one in settings)) for one in settings[:1] for name in one
    }
    versions = [record.get("versions") or {} for record in records]
    hardware = dict.fromkeys(_text(record[name]) for record in records for name in _HARDWARE if record.get(name))
    updated = max((trial.state.updated for trial in results.trials), default=0.0)
    speeds: dict[str, list[float]] = {}
    for trial in results.trials:
        if trial.state.steps_per_second:
            speeds.setdefault(trial.method, []).append(trial.state.steps_per_second)
    return Provenance(
        commands=[_command(record) for record in records],
        versions={name: str(number) for name, number in versions[-1].items()} if versions else {},
        versions_differ=any(one != versions[-1] for one in versions),
        hardware=list(hardware),
        same={name: found[0] for name, found in values.items() if len(found) == 1},
        varied={name: found for name, found in values.items() if len(found) > 1},
        options={name: _text(value) for name, value in results.description.options.items()},
        trial_hours=sum(trial.state.wall_seconds for trial in results.trials) / 3600,
        first_command=str(records[0].get("time", "")) if records else "",
        last_update=_utc(updated) if updated else "",
        speeds={name: sum(found) / len(found) for name, found in speeds.items()},
        written=_utc(time.time()),
        report_versions={name: version(name) for name in REPORT_PACKAGES},
    )


def origin(description: GridDescription) -> tuple[str, str]:
    """Commits and package versions for a table row."""
    records = description.commands
    commits = " ".join(dict.fromkeys(str(record.get("git_commit") or "unknown") for record in records))
    versions = (records[-1].get("versions") or {}) if records else {}
    return commits, " ".join(f"{name} {number}" for name, number in versions.items())


def _command(record: dict[str, Any]) -> Command:
    command = record.get("command", "")
    text = shlex.join(command) if isinstance(command, list) else str(command)
    further = [f"{name}: {_text(value)}" for name, value in record.items() if name not in _SHOWN]
    return Command(redacted(text), str(record.get("time", "")), str(record.get("git_commit", "")), further)


def _text(value: Any) -> str:
    return redacted(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))

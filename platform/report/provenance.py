"""The origin of the results: commands, commits, versions, configuration, hardware and time."""

from __future__ import annotations

import json
import time
from importlib.metadata import version
from statistics import fmean
from typing import Any

from bonuslab.platform.report.trial_results import GridResults
from bonuslab.platform.run.folder import GridDescription
from bonuslab.platform.run.progress import duration
from bonuslab.platform.run.redaction import redacted

REPORT_PACKAGES = ("bonuslab", "numpy", "matplotlib")


def provenance(results: GridResults) -> dict[str, Any]:
    """What a reader needs to reproduce the grid, as the page shows it."""
    records, trials = results.description.commands, results.trials
    settings = [
        {name: value for name, value in about.config.items() if name != "hyperparameters"} | about.hyperparameters
        for about in (trial.description for trial in trials)
    ]
    names = settings[0] if settings else {}
    values = {name: list(dict.fromkeys(_text(one.get(name)) for one in settings)) for name in names}
    versions = [record.get("versions") or {} for record in records] or [{}]
    speeds: dict[str, list[float]] = {}
    for trial in trials:
        if trial.state.steps_per_second:
            speeds.setdefault(trial.method, []).append(trial.state.steps_per_second)
    updated = max((trial.state.updated for trial in trials), default=0.0)
    return {
        "commands": [record | {"command": redacted(record["command"])} for record in records],
        "versions": versions[-1],  # of the last command
        "versions_differ": any(one != versions[-1] for one in versions),
        "hardware": list(dict.fromkeys(record["hardware"] for record in records if record.get("hardware"))),
        "same": {name: found[0] for name, found in values.items() if len(found) == 1},
        "varied": {name: found for name, found in values.items() if len(found) > 1},
        "options": {name: _text(value) for name, value in results.description.options.items()},
        "training_time": duration(sum(trial.state.wall_seconds for trial in trials)),
        "first_command": records[0]["time"] if records else "",
        "last_update": _utc(updated) if updated else "",
        "speeds": {name: fmean(found) for name, found in speeds.items()},
        "written": _utc(time.time()),
        "report_versions": {name: version(name) for name in REPORT_PACKAGES},
    }


def origin(description: GridDescription) -> tuple[str, str]:
    """Commits and package versions for a table row."""
    records = description.commands
    commits = " ".join(dict.fromkeys(str(record.get("git_commit") or "unknown") for record in records))
    versions = (records[-1].get("versions") or {}) if records else {}
    return commits, " ".join(f"{name} {number}" for name, number in versions.items())


def _text(value: Any) -> str:
    return redacted(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))

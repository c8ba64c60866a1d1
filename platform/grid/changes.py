"""Differences between the grid in a folder and the requested one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bonuslab.algorithms.data.small_files import DamagedFile
from bonuslab.platform.run.folder import GridDescription, GridFolder, TrialDescription
from bonuslab.platform.run.versions import own_code, this_code

MAX_NAMES = 4
"""Trials named per line."""


@dataclass
class Changes:
    """Differences by trial."""

    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    """No longer part of the grid; their folders stay."""
    changed: dict[str, list[str]] = field(default_factory=dict)
    """By trial: `name: before → now`."""

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    @property
    def needs_consent(self) -> bool:
        """Whether there is more than an extension by new trials."""
        return bool(self.removed or self.changed)

    def lines(self) -> list[str]:
        """Readable text; trials that changed in the same way share a line."""
        same: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for trial, differences in self.changed.items():
            same[tuple(differences)].append(trial)
        lines = []
        for alike, trials in same.items():
            lines.append(f"  changed  {_names(trials)}")
            lines += [f"             {difference}" for difference in alike]
        lines += [f"  added    {_names(self.added)}"] if self.added else []
        lines += [f"  removed  {_names(self.removed)}"] if self.removed else []
        return lines


def compare(folder: GridFolder, wanted: GridDescription) -> Changes:
    """What resuming the grid in `folder` as `wanted` would change."""
    there = folder.description()
    before = {trial.id: trial for trial in there.trials}
    now = {trial.id: trial for trial in wanted.trials}
    changes = Changes(
        added=[trial for trial in now if trial not in before],
        removed=[trial for trial in before if trial not in now],
    )
    for trial in wanted.trials:
        earlier = _earlier(folder, trial) or before.get(trial.id)
        if earlier is None:
            continue
        found = differences(earlier.config, trial.config, skip=("hyperparameters",))
        found += differences(earlier.hyperparameters, trial.hyperparameters)
        if found:
            changes.changed[trial.id] = found
    return changes


def other_code(folder: GridFolder, changes: Changes, wanted: GridDescription) -> list[str]:
    """`code: before → now`, if results of other code would be mixed with those of trials that are still to run.

    Where nothing is left to train, another version of bonuslab changes nothing, but the user's own code still does.
    """
    states = {trial.id: folder.trial(trial.id).state() for trial in wanted.trials if trial.id not in changes.changed}
    finished = not changes.changed and all(state.status == "finished" for state in states.values())
    found = {
        (states[trial.id].code, this_code(trial.config))
        for trial in wanted.trials
        if trial.id in states and states[trial.id].env_steps and states[trial.id].code
    }
    same = own_code if finished else str
    return [f"  code     {before} → {now}" for before, now in sorted(found) if same(before) != same(now)]


def differences(
    before: Mapping[str, Any], now: Mapping[str, Any], prefix: str = "", skip: Sequence[str] = ()
) -> list[str]:
    """`name: before → now` for every difference, nested names joined by dots."""
    lines = []
    for name in sorted({*before, *now} - set(skip)):
        old, new = _plain(before.get(name)), _plain(now.get(name))
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            lines += differences(old, new, f"{prefix}{name}.")
        elif old != new:
            lines.append(f"{prefix}{name}: {old!r} → {new!r}")
    return lines


def _plain(value: Any) -> Any:
    """As read back from JSON."""
    return list(value) if isinstance(value, tuple) else value


def _earlier(folder: GridFolder, trial: TrialDescription) -> TrialDescription | None:
    """The existing trial of this name, even if it was removed from the grid since."""
    try:
        return folder.trial(trial.id).own_description()
    except (DamagedFile, FileNotFoundError):
        return None


def _names(trials: Sequence[str]) -> str:
    shown = ", ".join(trials[:MAX_NAMES])
    more = len(trials) - MAX_NAMES
    return f"{len(trials)} trial{'s' if len(trials) > 1 else ''}: {shown}" + (f" and {more} more" if more > 0 else "")

"""Prepares a grid's folder: new, resumed, with accepted changes, or started over."""

from __future__ import annotations

import os
import shlex
import sys
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bonuslab.algorithms.extensions import copy_plugin
from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.grid.changes import Changes, compare, other_code
from bonuslab.platform.grid.relay import CheckpointLocations
from bonuslab.platform.run.folder import GRID_FILE, GridDescription, GridFolder, TrialDescription
from bonuslab.platform.run.machine import this_machine
from bonuslab.platform.run.redaction import redacted
from bonuslab.platform.run.repair import repair
from bonuslab.platform.run.versions import git_commit, versions

ASIDE = "aside"
"""Folder for earlier results of trials whose settings have changed."""


class ClaimedFolder:
    """A locked folder and the grid to put there. Before `write` nothing in it changes but damaged files."""

    def __init__(self, path: Path, wanted: GridDescription, fresh: bool, accept_changes: bool) -> None:
        self.folder = GridFolder(path)
        self.notes: list[str] = []
        self._is_new = not path.exists()
        self._fresh = fresh
        self._changes = Changes()
        self.description = wanted
        try:
            _require_usable(path)
            self.folder.lock()
            if (path / GRID_FILE).exists() and not fresh:
                self.description = self._continued(wanted, accept_changes)
        except OSError as error:
            self.release()
            raise InvalidInput(f"{path} cannot be written to: {error.strerror or error}") from error
        except InvalidInput:
            self.release()
            raise

    def unfinished(self) -> list[TrialDescription]:
        """Trials left to run, including those that failed before."""
        if self._fresh:
            return self.description.trials
        done = {
            trial.id
            for trial in self.description.trials
            if trial.id not in self._changes.changed and self.folder.trial(trial.id).state().status == "finished"
        }
        return [trial for trial in self.description.trials if trial.id not in done]

    def write(self, plugins: Sequence[str] = ()) -> None:
        """Write the grid and copies of the user's plugins."""
        path = self.folder.path
        try:
            if self._fresh and (path / GRID_FILE).exists():
                self._move_grid_aside()
            if self._changes.changed:
                self._move_changed_trials_aside()
            self.description.commands.append(this_command())
            for plugin in plugins:
                copy_plugin(plugin, self.folder.plugins)
            self.folder.write(self.description)
        except OSError as error:
            raise InvalidInput(f"{path} cannot be written to: {error.strerror or error}") from error

    def release(self) -> None:
        """Unlock the folder; remove it if it is new and still empty."""
        self.folder.release()
        if self._is_new:
            with suppress(OSError):
                self.folder.path.rmdir()

    def _continued(self, wanted: GridDescription, accept_changes: bool) -> GridDescription:
        there = self.folder.description()
        self._changes = changes = compare(self.folder, wanted)
        code = other_code(self.folder, changes, wanted)
        if (changes.needs_consent or code) and not accept_changes:
            raise InvalidInput(
                f"the grid in {self.folder.path} {'has different settings' if changes else 'is of different code'}:\n"
                + "\n".join([*changes.lines(), *code])
                + "\nNothing was started. Use --accept-changes to resume as it is now (unchanged trials keep their "
                f"results; those of changed ones move to {self.folder.path / ASIDE}), --fresh to start over, or --out "
                "for another folder."
            )
        if changes.needs_consent or code:
            self.notes += ["resuming with changes:", *changes.lines(), *code]
        elif changes:
            self.notes += ["extending the grid:", *changes.lines()]
        self.notes += repair(self.folder, checkpoint_locations(self.folder, there).of)
        generations = dict(there.options.get("generations", {}))
        for trial in changes.changed:
            generations[trial] = generations.get(trial, 1) + 1
        kept = {"id": there.options.get("id", wanted.options["id"]), "generations": generations}
        return replace(wanted, commands=there.commands, options={**there.options, **wanted.options, **kept})

    def _move_changed_trials_aside(self) -> None:
        aside = self.folder.path / ASIDE / _stamp()
        aside.mkdir(parents=True)
        for trial in self._changes.changed:
            os.replace(self.folder.trial(trial).path, aside / trial)
        self.notes.append(f"earlier results of {len(self._changes.changed)} changed trials are in {aside}")

    def _move_grid_aside(self) -> None:
        path = self.folder.path
        aside = path.with_name(f"{path.name}.{_stamp()}")
        os.replace(path, aside)
        self.notes.append(f"the previous grid is now in {aside}")
        before, self.folder = self.folder, GridFolder(path)
        self.folder.lock()
        before.release()


def with_id(description: GridDescription) -> GridDescription:
    """The description with a unique id, which names its checkpoints in shared storage."""
    description.options["id"] = uuid.uuid4().hex[:12]
    return description


def checkpoint_locations(
    folder: GridFolder, description: GridDescription, storage: str | None = None
) -> CheckpointLocations:
    """Where the trials store their checkpoints: in `storage`, else where the grid has stored them so far."""
    storage = storage or description.options.get("storage")
    names = {trial.id: description.generation_id(trial.id) for trial in description.trials}
    if storage is None:
        return CheckpointLocations(str(folder.checkpoints.absolute()), shared=False, names=names)
    root = f"{storage.rstrip('/')}/{folder.path.resolve().name}-{description.options['id']}"
    return CheckpointLocations(root, shared=True, names=names)


def this_command() -> dict[str, Any]:
    """The current command, time, code version and hardware; without secrets."""
    words = [Path(sys.argv[0]).name, *sys.argv[1:]]
    machine = this_machine()
    return {
        "command": redacted(shlex.join(redacted(word) for word in words)),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "git_commit": git_commit(),
        "versions": versions(),
        "hardware": f"{machine.cores} cores, {machine.memory_gib:g} GiB, {', '.join(machine.gpus) or 'no GPU'}",
    }


def _stamp() -> str:
    return datetime.now().strftime("%Y%m%d-%H%M%S")


def _require_usable(path: Path) -> None:
    """Reject a folder that contains something else or cannot be written to."""
    if path.exists() and not path.is_dir():
        raise InvalidInput(f"invalid --out {path}: it is a file")
    path.mkdir(parents=True, exist_ok=True)
    if not (path / GRID_FILE).exists() and any(item.name != GRID_FILE for item in path.iterdir()):
        raise InvalidInput(f"invalid --out {path}: the folder is not empty and contains no grid")
    probe = path / ".bonuslab-was-here"
    probe.write_text("")
    probe.unlink()

"""Plugin files: bonuses, features, networks and environments from `--plugin FILE`.

A plugin is one self-contained file. A run keeps its own copy, checked by hash, so that moving or editing the original
changes nothing about the run.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from dataclasses import dataclass
from os.path import expanduser
from pathlib import Path
from types import ModuleType
from typing import Any

from bonuslab.algorithms.data.mistakes import line_in
from bonuslab.algorithms.extensions.kinds import Slot, restore, user_entries
from bonuslab.envs.errors import InvalidInput

_loaded: dict[str, dict[Slot, Any]] = {}
"""What each plugin registered, by the SHA-256 of its content."""


@dataclass(frozen=True)
class PluginRef:
    """A plugin's copy in a run's folder."""

    name: str
    """The copy's file name."""
    sha256: str


def load_plugin(path: str | Path, sha256: str | None = None) -> dict[str, list[str]]:
    """Run the file, unless this content is loaded already, and return the names it registers by kind.

    Afterwards these names mean what this file says, also if another version of it was loaded before. A given `sha256`
    must be that of the file.
    """
    file, content = _read(path)
    found = hashlib.sha256(content).hexdigest()
    if sha256 is not None and found != sha256:
        raise InvalidInput(f"plugin {file} has changed: its SHA-256 is {found}, not {sha256}; restore the file")
    slots = _loaded.get(found, {})
    if not slots or any(slot.entry is not entry for slot, entry in slots.items()):
        slots = _loaded[found] = _run(file, content, file.stem.removesuffix(f"-{found[:8]}"))
    names: dict[str, list[str]] = {}
    for slot in slots:
        names.setdefault(slot.kind, []).append(slot.name)
    return names


def plugin_ref(path: str | Path) -> PluginRef:
    """What a copy of the file would be called: its name with its hash."""
    file, content = _read(path)
    sha256 = hashlib.sha256(content).hexdigest()
    suffix = f"-{sha256[:8]}"
    return PluginRef(f"{file.stem.removesuffix(suffix)}{suffix}.py", sha256)


def copy_plugin(path: str | Path, folder: str | Path) -> PluginRef:
    """Copy the file into `folder`, under the name of its `plugin_ref`."""
    ref = plugin_ref(path)
    target = Path(folder) / ref.name
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    partial.write_bytes(_read(path)[1])
    partial.replace(target)
    return ref


def _read(path: str | Path) -> tuple[Path, bytes]:
    file = Path(expanduser(path)).resolve()
    if not file.is_file():
        raise InvalidInput(f"plugin {str(path)!r} is not a file")
    if file.suffix != ".py":
        raise InvalidInput(f"plugin {str(path)!r} is not a Python file (.py)")
    return file, file.read_bytes()


def _run(file: Path, content: bytes, stem: str) -> dict[Slot, Any]:
    """Execute the content, not the file, which may have changed since; returns what it registered."""
    # The name does not depend on the folder or the version: a copy, or the file once edited, owns the same names.
    module = ModuleType("bonuslab_plugin_" + re.sub(r"\W", "_", stem))
    module.__file__ = str(file)
    before = user_entries()
    previous = sys.modules.get(module.__name__)
    sys.modules[module.__name__] = module
    try:
        exec(compile(content, str(file), "exec", dont_inherit=True), module.__dict__)
        slots = {slot: entry for slot, entry in user_entries().items() if before.get(slot) is not entry}
        if not slots:
            raise InvalidInput(
                "it registers nothing; use @bonus, @feature or @network on a function or class, or register_environment"
            )
    except (Exception, SystemExit) as error:
        restore(before)
        del sys.modules[module.__name__]
        if previous is not None:
            sys.modules[module.__name__] = previous
        reason = str(error) if isinstance(error, InvalidInput) else f"{type(error).__name__}: {error}"
        line = line_in(error, str(file))
        raise InvalidInput(f"plugin {file}{f':{line}' if line else ''}: {reason}") from error
    return slots

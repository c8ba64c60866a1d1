"""What users have registered, as bytes that another process can register: workers, trials, checkpoints.

Definitions travel by value, because a worker cannot import a script, a notebook or a plugin file. The exception is an
installed package, which workers import themselves.
"""

from __future__ import annotations

import copyreg
import dataclasses
import hashlib
import pickle
import site
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle

from bonuslab.algorithms.extensions.kinds import Slot, user_entries
from bonuslab.envs.errors import InvalidInput
from bonuslab.envs.origin import Origin

# A dataclass compares `default is MISSING`; unpickling must not make a second MISSING.
copyreg.pickle(type(dataclasses.MISSING), lambda _: "MISSING")

_INSTALLED = [
    Path(folder).resolve()
    for folder in {*sysconfig.get_paths().values(), *site.getsitepackages(), site.getusersitepackages()}
    if Path(folder).name in ("site-packages", "dist-packages")
]
_captured: set[str] = set()
"""Digests of what this process has captured: there is nothing to install from them here."""
_received: dict[Slot, Any] = {}
"""Entries that came in a payload, not from a definition in this process."""
_latest: bytes | None = None
"""The payload installed last."""


def capture() -> bytes | None:
    """All bonuses, features, networks and environments that users have registered; None if there are none."""
    entries = user_entries()
    if not entries:
        return None
    if _latest is not None and all(_received.get(slot) is entry for slot, entry in entries.items()):
        header, _ = pickle.loads(_latest)
        if header.keys() == entries.keys():
            return _latest
    header = {slot: slot.origin for slot in entries}
    with _by_value({origin.module for origin in header.values()}):
        payload = pickle.dumps((header, _dump(entries, header)))
    _captured.add(digest(payload))
    return payload


def install(payload: bytes | None) -> None:
    """Register what `capture` saved, in whichever process.

    A definition in this process stays: a checkpoint does not undo an edit. What came in an earlier payload is replaced.
    """
    global _latest
    if payload is None or payload == _latest or digest(payload) in _captured:
        return
    header, data = pickle.loads(payload)
    if not all(_defined_here(slot, origin) for slot, origin in header.items()):
        entries = _load(data, header)
        for slot, entry in entries.items():
            if not _defined_here(slot, header[slot]):  # importing an installed package may just have defined it
                slot.put(entry)
                _received[slot] = entry
    _latest = payload


def digest(payload: bytes) -> str:
    """SHA-256 of a payload. Two captures in one process agree unless a definition or a global it uses has changed."""
    return hashlib.sha256(payload).hexdigest()


def _defined_here(slot: Slot, origin: Origin) -> bool:
    """Whether this process has a definition of its own of what a payload calls `slot`."""
    if slot.entry is None or slot.entry is _received.get(slot):
        return False
    if not slot.origin.same_as(origin):
        raise InvalidInput(
            f"{slot.kind} {slot.name!r} is defined in both {origin.place} and {slot.origin.place}; rename one"
        )
    return True


def _dump(entries: dict[Slot, Any], header: dict[Slot, Origin]) -> bytes:
    try:
        return cloudpickle.dumps(entries)
    except Exception as error:
        for slot, entry in entries.items():
            try:
                cloudpickle.dumps(entry)
            except Exception as reason:
                raise InvalidInput(
                    f"{slot.kind} {slot.name!r} ({header[slot].place}) cannot be sent to workers: {reason}"
                ) from reason
        raise InvalidInput(f"what this script has registered cannot be sent to workers: {error}") from error


def _load(data: bytes, header: dict[Slot, Origin]) -> dict[Slot, Any]:
    try:
        return cloudpickle.loads(data)
    except Exception as error:
        names = ", ".join(f"{slot.kind} {slot.name!r} ({origin.place})" for slot, origin in header.items())
        raise InvalidInput(
            f"cannot load {names} in this process: {error}; every machine needs the modules that they import"
        ) from error


@contextmanager
def _by_value(names: set[str]) -> Iterator[None]:
    """Pickle definitions of these modules by value, but for installed packages."""
    modules = [module for name in names if (module := sys.modules.get(name)) is not None and not _is_installed(module)]
    before = cloudpickle.list_registry_pickle_by_value()
    added = [module for module in modules if module.__name__ not in {*before, "__main__"}]
    for module in added:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in added:
            cloudpickle.unregister_pickle_by_value(module)


def _is_installed(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and any(Path(file).resolve().is_relative_to(folder) for folder in _INSTALLED)

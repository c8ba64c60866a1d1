"""The code that produced a run: package versions and the commit of the source tree."""

from __future__ import annotations

import hashlib
import inspect
import os
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bonuslab.envs.origin import codes_of

BUILT_FROM = "BONUSLAB_COMMIT"
"""Environment variable set by deploy/Dockerfile."""
_OWN = " with own code "
PACKAGES = ("bonuslab", "ray", "torch", "numpy", "gymnasium", "nle", "minihack")


def versions(packages: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Versions of those packages that are installed; by default, of those that affect results."""
    found = {}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def git_commit() -> str | None:
    """The commit of the source tree, with `-dirty` if changed since; in a container image, the commit of its build."""
    here = Path(__file__).resolve().parent
    command = ["git", "-C", str(here), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return os.environ.get(BUILT_FROM)
    return found.stdout.strip() or os.environ.get(BUILT_FROM)


def this_code(config: Mapping[str, Any]) -> str:
    """What decides a trial's results beside its settings: version, commit, and the user's own code that it names."""
    from bonuslab.algorithms.extensions.kinds import KINDS, user_entries  # torch, which readers do not need

    names = f"{config['task']} {config['bonus']} {config['hyperparameters']}"
    used = [(slot, KINDS[slot.kind].definition(entry)) for slot, entry in user_entries().items() if slot.name in names]
    sources = sorted((slot.kind, slot.name, _source(inspect.unwrap(definition))) for slot, definition in used)
    own = f"{_OWN}{hashlib.sha256(repr(sources).encode()).hexdigest()[:12]}" if sources else ""
    return f"{_package()}{own}"


def own_code(code: str) -> str:
    """The part of `this_code` that stands for the user's own code; empty if there is none."""
    return code.partition(_OWN)[2]


@cache
def _package() -> str:
    """Of this process, whose code stays what it was when it started."""
    return f"bonuslab {version('bonuslab')} at {git_commit() or 'an unknown commit'}"


def _source(definition: Any) -> str:
    """The text of a definition and of the functions in it; a bonus that was a function has become a class."""
    texts = []
    for part in (definition, *codes_of(definition)):
        with suppress(OSError, TypeError):  # typed into an interpreter, or made by a decorator
            texts.append(inspect.getsource(part))
    return "\n".join(texts)

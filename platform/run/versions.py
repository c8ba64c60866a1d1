"""The code that produced a run: package versions and the commit of the source tree."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

BUILT_FROM = "BONUSLAB_COMMIT"
"""Environment variable set by deploy/Dockerfile."""
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

"""Which code a run was made with: versions of packages, and the commit of this source tree."""

from __future__ import annotations

import os
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

BUILT_FROM = "BONUSLAB_COMMIT"
"""Variable that deploy/Dockerfile sets."""
PACKAGES = ("bonuslab", "ray", "torch", "numpy", "gymnasium", "nle", "minihack")


def versions() -> dict[str, str]:
    """Versions of the packages that decide what a run does, those that are installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def git_commit() -> str | None:
    """The commit of this source tree, marked `-dirty` if it was changed since; in an image, what it was built from."""
    here = Path(__file__).resolve().parent
    command = ["git", "-C", str(here), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return os.environ.get(BUILT_FROM)
    return found.stdout.strip() or os.environ.get(BUILT_FROM)

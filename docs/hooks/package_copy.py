"""The package as a plain tree for mkdocstrings, which knows neither setuptools' package map nor links to folders."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig

ROOT = Path(__file__).parents[2]
COPY = ROOT / "build" / "docs" / "bonuslab"


def on_startup(**_: Any) -> None:
    """mkdocstrings looks for the folder before hooks see the configuration."""
    COPY.parent.mkdir(parents=True, exist_ok=True)


def on_config(config: MkDocsConfig) -> None:
    """Copy the sources to build/docs/bonuslab."""
    shutil.rmtree(COPY, ignore_errors=True)
    shutil.copytree(ROOT / "platform" / "bonuslab", COPY, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in ("algorithms", "envs", "platform"):
        for path in (ROOT / folder).rglob("*.py"):
            target = COPY / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        for place in [COPY / folder, *(COPY / folder).rglob("*/")]:
            (place / "__init__.py").touch()

"""NetHack's level compiler, lev_comp, as a function from .des text to .lev bytes."""

from __future__ import annotations

import importlib.util
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

from bonuslab.envs.errors import InvalidInput

LEVEL_NAME = "mylevel"
"""The name of every MiniHack level, compiled to `mylevel.lev`."""


def package_folder(package: str) -> Path:
    """Folder of an installed package, without importing it (importing minihack takes a second)."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError(f"the package {package} is not installed; `make venv` installs it")
    return Path(spec.submodule_search_locations[0])


@lru_cache(maxsize=256)
def compile_description(text: str) -> bytes:
    """The .lev bytes of .des text. Compiling takes milliseconds, so results are cached."""
    compiler = package_folder("nle") / "nethackdir" / "lev_comp"
    with tempfile.TemporaryDirectory(prefix="bonuslab-level-") as folder:
        Path(folder, "level.des").write_text(text)
        done = subprocess.run(
            [str(compiler), "level.des"], cwd=folder, capture_output=True, text=True, errors="replace", check=False
        )
        compiled = Path(folder, f"{LEVEL_NAME}.lev")
        if done.returncode == 0 and compiled.exists():
            return compiled.read_bytes()
    output = (done.stderr + done.stdout).strip() or "no output from lev_comp"
    raise InvalidInput(f"this level description does not compile into {LEVEL_NAME}.lev: {output}")

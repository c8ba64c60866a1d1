"""The shape of the repository: what may import what, and what must not exist."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ORDER = ("envs", "algorithms", "platform", "experiments")


def python_files(folder: str) -> list[Path]:
    return sorted(path for path in (ROOT / folder).rglob("*.py"))


def imported_parts(path: Path) -> set[str]:
    """Our own packages that a file imports, at its top or inside a function."""
    parts = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        parts |= {name.split(".")[1] for name in names if name.startswith("bonuslab.")}
    return parts


@pytest.mark.parametrize("folder", ORDER)
def test_imports_go_one_way(folder: str) -> None:
    allowed = set(ORDER[: ORDER.index(folder) + 1])
    wrong = {str(path.relative_to(ROOT)): imported_parts(path) - allowed for path in python_files(folder)}
    assert {path: parts for path, parts in wrong.items() if parts} == {}


@pytest.mark.parametrize("folder", ORDER)
def test_top_folders_have_no_init(folder: str) -> None:
    # platform/__init__.py would shadow the standard library wherever the repository's root is on sys.path.
    assert not (ROOT / folder / "__init__.py").exists()


def test_standard_library_platform_wins_at_the_root() -> None:
    code = "import platform, sys; print(platform.system())"
    printed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert printed.stdout.strip() in {"Linux", "Darwin", "Windows"}


def test_every_sub_package_is_in_the_wheel() -> None:
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    found = {
        "bonuslab." + ".".join(init.parent.relative_to(ROOT).parts)
        for folder in ORDER
        for init in (ROOT / folder).rglob("__init__.py")
    }
    assert listed == found | {f"bonuslab.{folder}" for folder in ORDER}


@pytest.mark.parametrize("folder", [*ORDER, "tests"])
def test_files_are_small_rooms_with_names(folder: str) -> None:
    long = {str(path): count for path in python_files(folder) if (count := len(path.read_text().splitlines())) > 400}
    assert long == {}
    empty_names = {"utils", "util", "helpers", "helper", "common", "misc", "tools"}
    assert [path for path in python_files(folder) if path.stem in empty_names] == []

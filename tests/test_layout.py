"""The shape of the repository: what may import what, where tests are, and what must not exist."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ORDER = ("envs", "algorithms", "platform", "experiments")
LAYERS = {
    "algorithms": (
        "data",
        "networks",
        "learning",
        "acting",
        "bonuses",
        "extensions",
        "rllib",
        "impala",
        "ddppo",
        "catalogue",
    ),
    "platform": ("run", "pictures", "tracking", "report", "grid", "board", "api", "bonuslab", "cli"),
}
"""A layer imports itself and those before it."""
FOR_OTHERS = {"setuptools"}
"""Dependencies that no file imports and RLlib does not ask for: minihack imports pkg_resources."""
RUNTIME_EXTRAS = ("fast", "ray", "minihack", "minigrid", "atari", "tracking")
LEAST_IDENTICAL_LINES = 6
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def python_files(folder: str) -> list[Path]:
    return sorted(path for path in (ROOT / folder).rglob("*.py"))


def imports(path: Path) -> set[str]:
    """Modules and names that a file imports, at its top or inside a function: `bonuslab.envs.errors.unknown`."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "import_module":
            found |= {word.value for word in node.args if isinstance(word, ast.Constant)}
    return found


def ours(path: Path) -> set[tuple[str, ...]]:
    """What a file imports of ours, as parts of a path below the root."""
    return {tuple(name.split(".")[1:]) for name in imports(path) if name.startswith("bonuslab.")}


@pytest.mark.parametrize("folder", ORDER)
def test_imports_go_one_way(folder: str) -> None:
    allowed = {*ORDER[: ORDER.index(folder) + 1], *(["rllib"] if folder == "experiments" else [])}  # bonuslab.rllib
    wrong = {str(path.relative_to(ROOT)): {parts[0] for parts in ours(path)} - allowed for path in python_files(folder)}
    assert {path: parts for path, parts in wrong.items() if parts} == {}


@pytest.mark.parametrize("folder", LAYERS)
def test_layers_import_only_those_before_them(folder: str) -> None:
    order = LAYERS[folder]
    assert {path.relative_to(ROOT / folder).parts[0].removesuffix(".py") for path in python_files(folder)} == set(order)
    wrong = []
    for path in python_files(folder):
        own = path.relative_to(ROOT / folder).parts[0].removesuffix(".py")
        for parts in ours(path):
            if parts[0] == folder and order.index(parts[1]) > order.index(own):
                wrong.append(f"{path.relative_to(ROOT)} imports {'.'.join(parts)}")
    assert wrong == []


def test_what_bonuses_are_made_of_knows_no_bonus() -> None:
    folder = ROOT / "algorithms" / "bonuses"
    single = {path.stem for path in folder.glob("*.py")}
    wrong = {
        f"{path.relative_to(ROOT)} imports {'.'.join(parts)}"
        for path in folder.glob("*/*.py")
        for parts in ours(path)
        if parts[:2] == ("algorithms", "bonuses") and (len(parts) < 3 or parts[2] in single)
    }
    assert wrong == set()


@pytest.mark.parametrize("folder", ORDER)
def test_top_folders_have_no_init(folder: str) -> None:
    # platform/__init__.py would shadow the standard library wherever the repository's root is on sys.path.
    assert not (ROOT / folder / "__init__.py").exists()


def test_standard_library_platform_wins_at_the_root() -> None:
    code = "import platform, bonuslab.platform.cli.main; print(platform.system())"
    printed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert printed.stdout.strip() in {"Linux", "Darwin", "Windows"}


def test_every_sub_package_is_in_the_wheel() -> None:
    listed = set(PROJECT["tool"]["setuptools"]["packages"])
    found = {
        "bonuslab." + ".".join(init.parent.relative_to(ROOT).parts)
        for folder in ORDER
        for init in (ROOT / folder).rglob("__init__.py")
    } - {"bonuslab.platform.bonuslab"}
    assert listed == found | {"bonuslab"} | {f"bonuslab.{folder}" for folder in ORDER}
    assert PROJECT["tool"]["setuptools"]["package-dir"]["bonuslab"] == "platform/bonuslab"


def test_runtime_dependencies_are_imported_by_the_source() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    runtime = [PROJECT["project"]["dependencies"], *(extras[name] for name in RUNTIME_EXTRAS)]
    wanted = {_name(text) for texts in runtime for text in texts}
    modules = {name.split(".")[0] for folder in ORDER for path in python_files(folder) for name in imports(path)}
    distributions = packages_distributions()
    imported = {_name(found) for module in modules for found in distributions.get(module, ())}
    of_ray = {_name(text) for text in requires("ray") or () if "rllib" in text or "tune" in text}
    assert wanted - imported - of_ray == FOR_OTHERS
    assert "rliable" not in wanted
    assert set(extras) == {*RUNTIME_EXTRAS, "all", "dev", "docs", "aws", "habitat"}
    assert extras["all"] == [f"bonuslab[{','.join(sorted(RUNTIME_EXTRAS))}]"]


def test_constraints_pin_every_dependency() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = {_name(text) for name in (*RUNTIME_EXTRAS, "dev", "docs") for text in extras[name]}
    wanted |= {_name(text) for text in PROJECT["project"]["dependencies"]}
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert wanted - {_name(line) for line in lines} == set()
    assert all("==" in line for line in lines)


def _name(requirement: str) -> str:
    return re.split(r"[\[=<>;! ]", requirement)[0].lower().replace("_", "-")


@pytest.mark.parametrize("folder", ORDER)
def test_tests_mirror_the_tree(folder: str) -> None:
    tested = {path.parent.relative_to(ROOT / "tests") for path in python_files(f"tests/{folder}")}
    assert tested
    assert {str(place) for place in tested if not (ROOT / place).is_dir()} == set()


@pytest.mark.parametrize("folder", [*ORDER, "deploy", "tests"])
def test_files_are_small_and_have_names(folder: str) -> None:
    sources = [path for kind in ("py", "html", "css", "js") for path in (ROOT / folder).rglob(f"*.{kind}")]
    long = {str(path): count for path in sources if (count := len(path.read_text().splitlines())) > 400}
    assert long == {}
    empty_names = {"utils", "util", "helpers", "helper", "common", "misc", "tools"}
    assert [path for path in python_files(folder) if path.stem in empty_names] == []


def test_nothing_is_written_twice() -> None:
    places = defaultdict(list)
    for folder in (*ORDER, "deploy"):
        for path in python_files(folder):
            lines = list(code_lines(path))
            for first in range(len(lines) - LEAST_IDENTICAL_LINES + 1):
                block = lines[first : first + LEAST_IDENTICAL_LINES]
                places["\n".join(text for _, text in block)].append(f"{path.relative_to(ROOT)}:{block[0][0]}")
    assert {block: found for block, found in places.items() if len(found) > 1} == {}


def code_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, without indentation, blank lines, comments, imports and signatures."""
    text = path.read_text()
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            left_out.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        elif isinstance(node, ast.FunctionDef):
            left_out.update(range(node.lineno, node.body[0].lineno))
    for number, line in enumerate(text.splitlines(), start=1):
        plain = line.strip()
        if plain and number not in left_out and not plain.startswith("#"):
            yield number, plain

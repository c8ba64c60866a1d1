"""Packages that RLlib imports and training does not use."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, new_class
from typing import Any

import pytest

from bonuslab.platform.run.deferred import PACKAGES, deferred


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of an importable package, whose submodule `shapes` has a class `Square`."""
    folder = tmp_path / "rarely_used"
    folder.mkdir()
    (folder / "__init__.py").write_text("SIDES = 4")
    (folder / "shapes.py").write_text("class Square:\n    sides = 4")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield folder.name
    for name in [name for name in sys.modules if name.startswith(folder.name)]:
        del sys.modules[name]


def _deferred_names(package: str) -> tuple[ModuleType, Any]:
    names: dict[str, Any] = {}
    with deferred([package]):
        exec(f"import {package} as module\nfrom {package}.shapes import Square", names)
    assert package not in sys.modules
    return names["module"], names["Square"]


def test_a_stand_in_imports_its_package_when_it_is_first_used(package: str) -> None:
    module, square = _deferred_names(package)
    assert not isinstance(4, square)
    assert package not in sys.modules
    assert module.SIDES == 4
    assert isinstance(square(), square)


@pytest.mark.parametrize("use", [lambda it: new_class("Sub", (it,)), copy.deepcopy, lambda it: it()])
def test_stand_ins_can_be_subclassed_copied_and_asked(package: str, use: Any) -> None:
    _, square = _deferred_names(package)
    assert use(square).sides == 4
    assert f"{package}.shapes" in sys.modules


def test_what_is_used_within_the_context_is_imported_there(package: str) -> None:
    with deferred([package]):
        exec(f"import {package}\nassert {package}.shapes.Square().sides == 4\nimport {package}.shapes")
        assert sys.modules[package].SIDES == 4


def test_a_package_that_is_not_installed_is_missing() -> None:
    with deferred(["no_such_package"]), pytest.raises(ModuleNotFoundError, match="no_such_package"):
        import no_such_package  # noqa: F401


def test_training_imports_none_of_them(tmp_path: Path) -> None:
    code = (
        "import sys; from bonuslab.platform.cli.train import _prepared\n"
        "run = _prepared({'task': 'MultiRoom-N2-S4', 'serial': True, 'out': sys.argv[1]})\n"
        f"print(set({PACKAGES}) & set(sys.modules))"
    )
    run = [sys.executable, "-c", code, str(tmp_path / "run")]
    assert subprocess.check_output(run, text=True).endswith("set()\n")

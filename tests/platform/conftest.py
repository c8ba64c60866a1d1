"""What the tests of the platform share."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bonuslab.platform.run.folder import GridFolder


@pytest.fixture(scope="session")
def write_sample_grid() -> Callable[..., GridFolder]:
    """`write_sample_grid(path, tasks=…, bonuses=…, seeds=…, rows=…)` of grid/sample_grid.py."""
    return _module("grid/sample_grid.py").write_sample_grid


@pytest.fixture(scope="session")
def tiny() -> ModuleType:
    """The module grid/tiny_grid.py: `config`, `train`, `tiny_scale`, `drive`, `Notes`, `SMALL`, `WORDS`, `BATCH`."""
    return _module("grid/tiny_grid.py")


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory: pytest.TempPathFactory, tiny: ModuleType) -> Path:
    """The folder of a run of four batches with `e3b * rnd` on two contexts; copy it to change it."""
    path = tmp_path_factory.mktemp("finished") / "run"
    tiny.train(path, 4, contexts="2")
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The tab of board/browser.py; a test that uses it is marked `needs("chromium")`."""
    tab = _module("board/browser.py").Browser(tmp_path_factory.mktemp("chromium"))
    yield tab
    tab.close()


def _module(place: str) -> ModuleType:
    path = Path(__file__).parent / place
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

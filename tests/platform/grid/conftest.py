"""What the tests of grids share."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def tiny() -> ModuleType:
    """The module tiny_grid.py: `tiny_scale`, `drive`, `Notes`, `BATCH`."""
    spec = importlib.util.spec_from_file_location("tiny_grid", Path(__file__).parent / "tiny_grid.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

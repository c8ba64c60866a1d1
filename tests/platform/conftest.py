"""What the tests of the platform share."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

from bonuslab.platform.grid.folder import GridFolder


@pytest.fixture(scope="session")
def write_sample_grid() -> Callable[..., GridFolder]:
    """`write_sample_grid(path, tasks=…, bonuses=…, seeds=…, rows=…)` of grid/sample_grid.py."""
    spec = importlib.util.spec_from_file_location("sample_grid", Path(__file__).parent / "grid" / "sample_grid.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.write_sample_grid

"""What every test may rely on: system programs it needs are named, and nothing it starts is left behind."""

from __future__ import annotations

import shutil

import pytest


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose system program is missing, and name the program in the summary."""
    for marker in item.iter_markers("needs"):
        for program in marker.args:
            if shutil.which(program) is None and shutil.which(program, path="/usr/sbin") is None:
                pytest.skip(f"needs the program {program}, which is not installed here")

"""What every test may rely on: missing system programs are named, and a busy machine only makes tests slower."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from typing import Any

import pytest

# Ray gives up on processes that start slowly. Ten others at work must not make a test fail.
PATIENCE = {
    "RAY_worker_register_timeout_seconds": "600",
    "RAY_gcs_server_port_wait_time_s": "300",
    "RAY_DASHBOARD_STARTUP_TIMEOUT_S": "300",
    "RAY_health_check_timeout_ms": "120000",
}
os.environ.update(PATIENCE)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose system program is missing, and name the program in the summary."""
    for marker in item.iter_markers("needs"):
        for program in marker.args:
            if shutil.which(program) is None and shutil.which(program, path="/usr/sbin") is None:
                pytest.skip(f"needs the program {program}, which is not installed here")


@pytest.fixture(scope="session")
def wait_until() -> Callable[..., Any]:
    """`wait_until(condition)`: its first true value. The limit is for what never happens, not for what is slow."""

    def wait(condition: Callable[[], Any], limit_seconds: float = 600.0) -> Any:
        deadline = time.monotonic() + limit_seconds
        while not (value := condition()):
            assert time.monotonic() < deadline, f"not true within {limit_seconds:.0f} s"
            time.sleep(0.05)
        return value

    return wait

"""What every test may rely on: missing programs are named, Ray is shared, a busy machine only makes tests slower."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

# The same examples every time, however long each takes on a busy machine, and nothing kept on disk.
hypothesis.settings.register_profile(
    "ours",
    derandomize=True,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],  # the machine may be busy
    database=None,
)
hypothesis.settings.load_profile("ours")

# Threads that wait for each other by spinning make tests many times slower as soon as the cores are shared.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Ray gives up on processes that start slowly. Ten others at work must not make a test fail.
os.environ |= {
    "RAY_worker_register_timeout_seconds": "600",
    "RAY_gcs_server_port_wait_time_s": "300",
    "RAY_DASHBOARD_STARTUP_TIMEOUT_S": "300",
    "RAY_health_check_timeout_ms": "120000",
    "RAY_worker_niceness": "0",
}

# A shell ignores Ctrl-C for what it starts in the background, and so would every program that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

HERE = Path(__file__).parent
LONGEST_FIRST = ("test_wheel.py", "platform", "docs", "experiments", "deploy", "algorithms", "envs")
"""Parts of `tests/`, by how long their slowest files take."""
shares_ray: set[Path] = set()
"""Files with a test that uses the fixture `cluster`."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Side by side, long files go first, so that no worker ends much later than the others."""
    shares_ray.update(item.path for item in items if "cluster" in getattr(item, "fixturenames", ()))
    if hasattr(config, "workerinput"):
        folders = {folder: place for place, folder in enumerate(LONGEST_FIRST)}
        items.sort(
            key=lambda item: (item.path not in shares_ray, folders.get(item.path.relative_to(HERE).parts[0], 99))
        )


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose system program is missing, and name the program in the summary."""
    for marker in item.iter_markers("needs"):
        for program in marker.args:
            if shutil.which(program) is None and shutil.which(program, path="/usr/sbin") is None:
                pytest.skip(f"needs the program {program}, which is not installed here")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Stop the shared Ray before a file that does not use it: tests there may start their own."""
    yield
    if item.path in shares_ray and (nextitem is None or nextitem.path not in shares_ray):
        import ray

        ray.shutdown()


@pytest.fixture(scope="module")
def cluster() -> None:
    """One small Ray in this process, started for the first test that needs it."""
    import ray

    from bonuslab.platform.run.ray_session import start_ray

    if not ray.is_initialized():
        start_ray(num_cpus=4)


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


@pytest.fixture
def fresh_registries(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No user's bonuses, features, networks and environments, as in a new process; those there were come back."""
    from bonuslab.algorithms.extensions import kinds, shipping

    before = kinds.user_entries()
    kinds.restore({})
    monkeypatch.setattr(shipping, "_captured", set())
    monkeypatch.setattr(shipping, "_received", {})
    monkeypatch.setattr(shipping, "_latest", None)
    yield
    kinds.restore(before)

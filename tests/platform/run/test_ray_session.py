"""Ray on this machine: a second chance if it starts slowly, one sentence if it does not, and closed to others."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
import ray
from ray._private.node import Node

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.cli.main import main
from bonuslab.platform.run import ray_session
from bonuslab.platform.run.ray_session import ending_with_ray, start_ray

TIMED_OUT = "The current node timed out during startup. This could happen\nbecause the GCS has become overloaded."


class SlowRay:
    """`ray.init` that fails a number of times."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.calls: list[dict[str, Any]] = []

    def __call__(self, **options: Any) -> str:
        self.calls.append(options)
        if len(self.calls) <= self.failures:
            raise Exception(TIMED_OUT)  # as Ray does
        return "started"


def test_without_a_dashboard_ray_does_not_start_its_monitors(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    for name in ("start_api_server", "start_log_monitor", "start_monitor", "start_raylet"):
        monkeypatch.setattr(Node, name, lambda *_, name=name, **__: started.append(name))

    def start_all(**_: object) -> SimpleNamespace:
        for name in ("start_api_server", "start_log_monitor", "start_monitor", "start_raylet"):
            getattr(Node, name)(None)
        return SimpleNamespace(dashboard_url="")

    monkeypatch.setattr(ray, "init", start_all)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with ray_session.ray_session():
        assert started == ["start_raylet"]
    start_ray(dashboard=True)  # as a grid does
    assert sorted(started[1:]) == ["start_api_server", "start_log_monitor", "start_monitor", "start_raylet"]


def test_a_slow_start_is_tried_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = SlowRay(failures=1)
    monkeypatch.setattr(ray, "init", slow)
    assert start_ray() == "started"
    assert len(slow.calls) == 2
    assert all(call["address"] == "local" for call in slow.calls)
    monkeypatch.setattr(ray, "init", SlowRay(failures=2))
    with pytest.raises(InvalidInput, match=r"two attempts: The current node timed out .* overloaded; nothing") as told:
        start_ray()
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("command", [["train", "MultiRoom-N2-S4"], ["grid", "--scale", "smoke", "--address", "local"]])
def test_no_folder_is_left_if_ray_does_not_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    slow = SlowRay(failures=9)
    monkeypatch.setattr(ray, "init", slow)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.chdir(tmp_path)
    assert main([*command, "--out", "new"]) == 2
    assert len(slow.calls) == 2
    printed = capsys.readouterr().err.strip()
    assert "Ray did not start on this machine in two attempts" in printed
    assert printed.count("\n") == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_call_that_waits_for_a_ray_that_has_died_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    ended, said = threading.Event(), []

    def end(status: int) -> None:
        said.append(str(status))
        ended.set()
        sys.exit()  # only of the thread

    monkeypatch.setattr(ray_session, "CHECK_SECONDS", 0.01)
    monkeypatch.setattr(os, "_exit", end)
    with ending_with_ray(lambda: said.append("lives")):
        time.sleep(0.05)
    monkeypatch.setattr(ray_session, "ray_has_died", lambda: True)
    with ending_with_ray(lambda: said.append("in time")):
        time.sleep(0.05)
    assert said == []
    monkeypatch.setattr(ray_session, "PATIENCE_SECONDS", 0.01)
    with ending_with_ray(lambda: said.append("stopped")):
        assert ended.wait(60)
    assert said == ["stopped", "1"]


WORKER = """
import time
from bonuslab.envs.scratch import scratch_folder
with scratch_folder() as folder:
    print(folder, flush=True)
    time.sleep(600)
"""


def test_workers_that_end_after_ray_leave_no_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", WORKER], stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        folder = Path(worker.stdout.readline().strip())
        monkeypatch.setattr(ray_session, "_local_workers", lambda: [psutil.Process(worker.pid)])
        monkeypatch.setattr(ray, "shutdown", lambda: threading.Timer(0.3, worker.kill).start())
        assert folder.is_dir()
        ray_session.stop_ray()
    assert not folder.exists()


HOST = """
import ray, psutil, sys
from bonuslab.platform.run.ray_session import start_ray
context = start_ray(dashboard=True, num_cpus=1)
processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
listening = {c.laddr.ip for p in processes for c in p.net_connections("inet") if c.status == "LISTEN"}
print(context.address_info["gcs_address"], *sorted(listening), flush=True)
sys.stdin.read()
"""
GUEST = """
import ray, sys
ray.init(address=sys.argv[1], logging_level="ERROR")
print("is in:", ray.get(ray.remote(lambda: 6 * 7).remote()), flush=True)
"""


@pytest.mark.slow
@pytest.mark.cluster
def test_a_client_without_the_token_is_refused_and_nothing_listens_outside(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    private = {"RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_ADDRESS"}
    environment = {name: value for name, value in os.environ.items() if name not in private} | {"HOME": str(home)}
    loopback = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}  # otherwise it looks for a node at its outer address
    host = subprocess.Popen(
        [sys.executable, "-c", HOST], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert host.stdin is not None
    assert host.stdout is not None
    try:
        address, *listening = host.stdout.readline().split()
        assert {name.removeprefix("::ffff:") for name in listening} == {"127.0.0.1"}
        token = home / ".ray" / "auth_token"
        assert token.stat().st_mode & 0o077 == 0, "other users of the machine must not read the token"

        def join(**changes: str) -> str:
            guest = [sys.executable, "-c", GUEST, address]
            try:
                done = subprocess.run(
                    guest, env=environment | loopback | changes, capture_output=True, text=True, timeout=90, check=False
                )
            except subprocess.TimeoutExpired:
                return "waits in vain"
            return done.stdout

        assert "is in: 42" in join(RAY_AUTH_MODE="token")
        empty = tmp_path / "empty"
        empty.mkdir()
        modes = ({"RAY_AUTH_MODE": "disabled"}, {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64}, {})
        with ThreadPoolExecutor(len(modes)) as pool:
            for mode, output in zip(modes, pool.map(lambda mode: join(HOME=str(empty), **mode), modes), strict=True):
                assert "is in" not in output, f"a client with {mode} was let in"
    finally:
        host.stdin.close()
        host.wait()


LOSS = """
import os, ray
from ray._private import worker
from bonuslab.platform.run.ray_session import ray_has_died, start_ray
start_ray(num_cpus=1)
processes = dict(worker._global_node.live_processes())
groups = {os.getpgid(process.pid) for process in processes.values()}
before = ray_has_died()
processes["gcs_server"].kill()
processes["gcs_server"].wait()
print(os.getpgid(0) in groups, before, ray_has_died())
ray.shutdown()
"""


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere Ray needs this process's group to end its own")
def test_ray_is_not_in_this_process_group_and_its_loss_is_noticed_at_once() -> None:
    done = subprocess.run([sys.executable, "-c", LOSS], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["False", "False", "True"], done.stderr


TWICE = """
import ray
from ray.tune.registry import register_env
from bonuslab.platform.run.ray_session import ray_session

@ray.remote
def is_known():
    import ray.tune
    from bonuslab.envs.gym.making import find_rllib
    return find_rllib("pole-of-two-sessions") is not None

register_env("pole-of-two-sessions", lambda config: None)
for _ in range(2):
    with ray_session():
        print(ray.get(is_known.remote()))
"""


@pytest.mark.slow
@pytest.mark.cluster
def test_environments_registered_with_ray_are_known_in_the_next_session_too() -> None:
    finished = subprocess.run([sys.executable, "-c", TWICE], capture_output=True, text=True, check=True)
    assert finished.stdout.split() == ["True", "True"]

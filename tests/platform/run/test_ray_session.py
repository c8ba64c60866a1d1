"""Ray on this machine: a second chance if it starts slowly, one sentence if it does not, and closed to others."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import ray

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.cli.main import main
from bonuslab.platform.run.ray_session import start_ray

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


def test_a_slow_start_is_tried_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = SlowRay(failures=1)
    monkeypatch.setattr(ray, "init", slow)
    assert start_ray(include_dashboard=False) == "started"
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


HOST = """
import ray, psutil, sys
from bonuslab.platform.run.ray_session import start_ray
context = start_ray(num_cpus=1, include_dashboard=True)
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

"""The peers do the same work with the same network, and one that cannot be installed is left out."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from bonuslab.algorithms.learning.gae import gae
from bonuslab.algorithms.networks import build_policy
from bonuslab.envs.minihack import MiniHackVectorEnv
from bonuslab.experiments.benchmarks import peer_environment, peer_loop, peer_turns, peers
from bonuslab.experiments.benchmarks.peer_network import PlainPolicy
from bonuslab.experiments.benchmarks.peer_rllib import rllib_config
from bonuslab.experiments.benchmarks.process_memory import tree_cpu_seconds


def test_the_plain_network_is_the_preset_s() -> None:
    envs, rng = MiniHackVectorEnv(peers.TASK, 3, seed=1), np.random.default_rng(0)
    seen = [{key: torch.from_numpy(rows.copy()) for key, rows in envs.reset().items()}]
    for _ in range(5):
        observations = envs.step(rng.integers(8, size=3)).observations
        seen.append({key: torch.from_numpy(rows.copy()) for key, rows in observations.items()})
    steps = {key: torch.stack([rows[key] for rows in seen]) for key in seen[0]}
    first = torch.zeros(6, 3, dtype=torch.bool)
    first[0], first[3, 1] = True, True

    torch.manual_seed(0)
    ours, plain = (build(envs.observation_space, 8) for build in (_tiny, PlainPolicy))
    plain.load_state_dict(ours.state_dict())
    expected = ours.unroll(steps, first, ours.initial_state(3))
    rows = plain.encoder.prepare_rows({key: each.flatten(0, 1) for key, each in steps.items()})
    rows = {key: each.unflatten(0, (6, 3)) for key, each in rows.items()}
    logits, value, state = plain(rows, first, plain.initial_state(3))
    torch.testing.assert_close(logits, expected.logits, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(value, expected.value, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(state[1], expected.state[1], atol=1e-6, rtol=1e-5)
    envs.close()


def _tiny(space: object, actions: int) -> torch.nn.Module:
    return build_policy("tiny", space, actions)  # type: ignore[arg-type]


def test_the_loop_s_advantages_are_gae() -> None:
    rng = torch.Generator().manual_seed(0)
    reward, value = torch.randn(7, 4, generator=rng), torch.randn(8, 4, generator=rng)
    done = torch.rand(7, 4, generator=rng) < 0.3
    expected = gae(
        reward=reward, value=value[:-1], next_value=value[1:], terminated=done, done=done, discount=0.9, decay=0.8
    )
    torch.testing.assert_close(peer_loop.gae(reward, value, done, 0.9, 0.8), expected)


def test_the_loop_trains() -> None:
    loop = peer_loop.PlainLoop(replace(peers.laptop_work(), num_envs=4, unroll=4, minibatches=2))
    before = [each.clone() for each in loop.policy.parameters()]
    assert loop.update() == 16
    assert loop.optimiser.state_dict()["state"][0]["step"] == 3 * 2
    changed = [bool((a != b).any()) for a, b in zip(before, loop.policy.parameters(), strict=True)]
    assert all(changed)
    assert all(torch.isfinite(each).all() for each in loop.policy.parameters())
    loop.envs.close()


@pytest.mark.parametrize("algorithm", ["PPO", "APPO", "IMPALA"])
def test_rllib_does_the_same_work(algorithm: str) -> None:
    work = peers.laptop_work()
    config = rllib_config(algorithm, work)
    config.validate()
    extra = algorithm == "PPO"
    assert config.num_envs_per_env_runner == 64
    assert config.num_epochs == 3
    assert config.total_train_batch_size == 2048
    assert config.minibatch_size * 8 == 64 * (32 + extra)


def test_turns_count_steps_and_wait(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("2\n1\n"))
    turns, steps = peer_turns.Turns(batch_steps=10), 0
    while turns.go_on(steps):
        steps += 10
    assert steps == 30
    answers = [json.loads(line.removeprefix("answer ")) for line in capsys.readouterr().out.splitlines()]
    assert [taken for _, taken, _ in answers] == [20, 10]


def test_sides_take_turns() -> None:
    order = []

    def side(name: str, seconds: float) -> object:
        return lambda: order.append(name) or (seconds, 1_000)

    spent = peers.take_turns({"ours": side("ours", 0.1), "peer": side("peer", 0.3)}, turns=2)  # type: ignore[dict-item]
    assert order == ["ours", "peer", "ours", "peer"]
    assert spent == {"ours": pytest.approx(100), "peer": pytest.approx(300)}


def test_cpu_time_includes_ended_children() -> None:
    before = tree_cpu_seconds(os.getpid())
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-c", burn], check=True)
    assert tree_cpu_seconds(os.getpid()) - before >= 0.28


def test_a_peer_that_cannot_be_installed_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(peer_environment.venv, "create", lambda folder, **_: _fake_python(folder))
    with pytest.raises(
        peer_environment.PeerUnavailableError, match=r"^sample-factory is left out: .*\(No network\)\.$"
    ):
        peer_environment.peer_python("sample-factory", tmp_path)
    assert not (tmp_path / "sample-factory" / peer_environment.READY).exists()


def _fake_python(folder: Path) -> None:
    """An environment whose pip fails."""
    (folder / "lib" / "python3" / "site-packages").mkdir(parents=True)
    (folder / "bin").mkdir()
    (folder / "bin" / "python").write_text("#!/bin/sh\necho 'ERROR: No network.' >&2\nexit 1\n")
    (folder / "bin" / "python").chmod(0o755)

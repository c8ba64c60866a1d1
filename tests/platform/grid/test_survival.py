"""Grids that lose their driver, or a machine, in the middle."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import ray
from ray.cluster_utils import Cluster

from bonuslab.platform.run.folder import GridFolder, TrialFolder

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(3_600)]
HERE = Path(__file__).parent
SCRIPT = HERE.parents[2] / "experiments" / "minihack_grid.py"
SMALL = ("num_envs_per_env_runner=4", "rollout_fragment_length=8", "num_minibatches=2", "num_epochs=1")


def grid_command(folder: Path, *words: str) -> list[str]:
    numbers = [word for number in SMALL for word in ("--set", number)]
    selection = ["--scale", "smoke", "--bonuses", "none", "rnd", "e3b", "--steps", "6400", "--checkpoint-every", "640"]
    return [sys.executable, str(SCRIPT), *selection, *numbers, "--address", "local", "--out", str(folder), *words]


def test_a_killed_driver_costs_no_finished_trial(tmp_path: Path, wait_until: Callable[..., bool]) -> None:
    """`kill -9` in the middle, a second driver meanwhile, and the same command again from another directory."""
    path = tmp_path / "grid"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    first = subprocess.Popen(grid_command(path), cwd=elsewhere, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    folder = GridFolder(path)
    wait_until(lambda: (path / "grid.json").exists())

    def one_done_one_saved() -> bool:
        states = [trial.state() for trial in folder.trials()]
        assert first.poll() is None, "the grid ended before it could be killed"
        statuses = [state.status for state in states]
        return "finished" in statuses and any(s.status == "running" and s.checkpoints for s in states)

    wait_until(one_done_one_saved)
    second = subprocess.run(grid_command(path), cwd=elsewhere, capture_output=True, text=True, check=False)
    assert second.returncode == 2
    assert "another process is training in" in second.stderr
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    before = {trial.id: trial.state() for trial in folder.trials()}
    finished = {trial for trial, state in before.items() if state.status == "finished"}
    saved = {trial: state.env_steps for trial, state in before.items() if state.status == "running"}
    assert finished

    changed = subprocess.run(grid_command(path, "--seeds", "1"), capture_output=True, text=True, check=False)
    assert changed.returncode == 2
    assert "removed  3 trials" in changed.stderr
    last = subprocess.run(grid_command(path), cwd=elsewhere, capture_output=True, text=True, check=False)
    assert last.returncode == 0, last.stdout + last.stderr
    assert "3 of 3 trials finished" in last.stdout
    after = {trial.id: trial.state() for trial in folder.trials()}
    assert {state.status for state in after.values()} == {"finished"}
    assert all(after[trial] == before[trial] for trial in finished)
    for trial in folder.trials():
        steps = trial.rows()["env_steps"].tolist()
        assert steps == sorted(set(steps)), "a row is missing or there twice"
        assert steps[-1] == 6_400
        assert len(steps) == 100
    assert all(after[trial].attempts == 2 for trial in saved)
    assert (path / "report" / "index.html").stat().st_size > 10_000
    with sqlite3.connect(path / "mlflow.db") as store:
        runs = store.execute("select count(*) from runs where status = 'FINISHED'").fetchone()[0]
    assert runs >= 3


def test_a_machine_dies_and_the_grid_completes(
    tmp_path: Path, tiny: ModuleType, wait_until: Callable[..., bool]
) -> None:
    """Three machines; the trials of the one that dies continue elsewhere, from checkpoints sent to the head."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        workers = [cluster.add_node(num_cpus=1) for _ in range(2)]
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        path = tmp_path / "grid"
        scale = tiny.tiny_scale(["none", "rnd", "e3b"], 300, checkpoint_every_steps=20 * tiny.BATCH)

        def kill_one() -> None:
            def running() -> list[TrialFolder]:
                trials = GridFolder(path).trials()
                return [trial for trial in trials if trial.state().checkpoints and trial.state().status == "running"]

            wait_until(lambda: (path / "grid.json").exists() and len(running()) == 2)
            cluster.remove_node(workers[0], allow_graceful=False)

        killer = threading.Thread(target=kill_one)
        killer.start()
        display = tiny.Notes()
        folder, outcome = tiny.drive(path, scale, display, max_retries=2)
        killer.join()
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert outcome.stopped == ""
    states = [trial.state() for trial in folder.trials()]
    assert [state.status for state in states] == ["finished"] * 3
    assert sum(state.attempts for state in states) >= 4, "no trial was moved"
    assert any("retrying" in note for note in display.notes)
    for trial in folder.trials():
        steps = trial.rows()["env_steps"].tolist()
        assert steps == [96 * number for number in range(1, 101)]
        assert trial.video.exists()

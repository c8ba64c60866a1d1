"""Tiny grids on Ray Tune: failing trials, stopping and resuming."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from ray import tune

from bonuslab.algorithms.bonuses.algebra import registry
from bonuslab.platform.run.folder import GridFolder

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module", autouse=True)
def registry_as_before(cluster: None) -> Iterator[None]:
    before = dict(registry._BONUSES)
    yield
    registry._BONUSES.clear()
    registry._BONUSES.update(before)


@pytest.fixture(scope="module")
def troubled(tmp_path_factory: pytest.TempPathFactory, tiny: ModuleType) -> tuple[Path, list[str]]:
    """A grid in which one trial fails once and another always; its folder and what was said."""
    path = tmp_path_factory.mktemp("troubled")
    display = tiny.Notes()
    scale = tiny.tiny_scale(["test.flaky", "test.broken"], 6, path)
    _, outcome = tiny.drive(path / "grid", scale, display)
    assert (outcome.stopped, outcome.signal, outcome.unwritten) == ("", None, None)
    return path, display.notes


def test_a_trial_that_keeps_failing_does_not_stop_the_others(troubled: tuple[Path, list[str]]) -> None:
    folder = GridFolder.open(troubled[0] / "grid")
    trials = {trial.description().labels["bonus"]: trial for trial in folder.trials()}
    flaky, broken = trials["test.flaky"], trials["test.broken"]
    assert (flaky.state().status, broken.state().status) == ("finished", "failed")
    assert broken.state().attempts == 2
    assert broken.state().error == "RuntimeError: this bonus is broken"
    assert "in compute" in broken.error_file.read_text()
    assert flaky.video.stat().st_size > 1_000
    assert flaky.summary.stat().st_size > 1_000
    assert len(flaky.state().checkpoints) == 1


def test_a_full_disk_stops_the_grid_with_a_sentence(
    tmp_path: Path, tiny: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fit(_: tune.Tuner) -> None:
        raise tune.TuneError("Traceback (most recent call last):\nOSError: [Errno 28] No space left on device\n")

    monkeypatch.setattr(tune.Tuner, "fit", fit)
    _, outcome = tiny.drive(tmp_path / "grid", tiny.tiny_scale(["none"], 6, tmp_path), tiny.Notes())
    assert outcome.stopped == "OSError: [Errno 28] No space left on device"


def test_a_retry_resumes_from_the_checkpoint(troubled: tuple[Path, list[str]]) -> None:
    folder = GridFolder.open(troubled[0] / "grid")
    (flaky,) = [trial for trial in folder.trials() if "flaky" in trial.id]
    assert flaky.state().attempts == 2
    assert flaky.state().error == ""
    rows = flaky.rows()
    assert rows["env_steps"].tolist() == [32, 64, 96, 128, 160, 192]
    assert rows["wall_seconds"].is_monotonic_increasing
    assert any("flaky" in note and "retrying: RuntimeError: a bad day" in note for note in troubled[1])


def test_the_next_run_repeats_nothing_but_what_failed(troubled: tuple[Path, list[str]], tiny: ModuleType) -> None:
    path = troubled[0]
    (path / "repaired").touch()
    before = {trial.id: trial.state() for trial in GridFolder.open(path / "grid").trials()}
    scale = tiny.tiny_scale(["test.flaky", "test.broken"], 6, path)
    folder, outcome = tiny.drive(path / "grid", scale, tiny.Notes())
    assert outcome.stopped == ""
    after = {trial.id: trial.state() for trial in folder.trials()}
    assert {state.status for state in after.values()} == {"finished"}
    for trial, state in after.items():
        expected = before[trial].attempts + ("broken" in trial)
        assert state.attempts == expected
    assert all(state == before[trial] for trial, state in after.items() if "broken" not in trial)


def test_ctrl_c_saves_what_there_is(tmp_path: Path, tiny: ModuleType, wait_until: Callable[..., bool]) -> None:
    scale = tiny.tiny_scale(["none", "e3b"], 2_000, checkpoint_every_steps=10**9)
    path = tmp_path / "grid"

    def interrupt() -> None:
        wait_until((path / "grid.json").exists)
        wait_until(lambda: any(len(trial.rows()) >= 2 for trial in GridFolder(path).trials()))
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    display = tiny.Notes()
    folder, outcome = tiny.drive(path, scale, display, concurrent=1)
    assert outcome.signal == signal.SIGINT
    assert any("stopping" in note for note in display.notes)
    for trial in folder.trials():
        state = trial.state()
        assert state.status == "waiting"
        assert state.env_steps == (trial.rows()["env_steps"].max() if state.env_steps else 0)
        if state.env_steps:
            assert [Path(kept).name for kept in state.checkpoints] == [f"checkpoint_{state.env_steps:012d}"]

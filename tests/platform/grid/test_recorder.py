"""What the driver writes: rows and states as they come, again after a failure, and once a full disk has room."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from bonuslab.platform.grid.recorder import Recorder
from bonuslab.platform.run.folder import LABELS, GridDescription, GridFolder, TrialDescription
from bonuslab.platform.run.rows import RowWriter, read_rows
from bonuslab.platform.run.training import TrialReport


@pytest.fixture
def folder(tmp_path: Path) -> GridFolder:
    folder = GridFolder(tmp_path / "grid")
    trials = [TrialDescription(name, {}, {}, dict.fromkeys(LABELS, "")) for name in ("a", "b")]
    folder.write(GridDescription("grid", "demo", "small", trials))
    return folder


def row(steps: int, **more: float) -> dict[str, float]:
    return {"env_steps": steps, "wall_seconds": steps / 10, **more}


def begun(folder: GridFolder, *steps: int) -> Recorder:
    """Trial `a` has begun and reported rows at these steps."""
    recorder = Recorder(folder)
    recorder["a"].wait(100)
    recorder["a"].start()
    for number, step in enumerate(steps):
        recorder["a"].add(TrialReport(row(step), restored_rows=[] if number == 0 else None))
    return recorder


def steps_on_disk(folder: GridFolder) -> list[int]:
    return folder.trial("a").rows()["env_steps"].tolist()


def test_rows_and_state_are_written(folder: GridFolder) -> None:
    recorder = begun(folder, 10, 20)
    assert recorder.write()
    state = folder.trial("a").state()
    assert steps_on_disk(folder) == [10, 20]
    assert (state.status, state.env_steps, state.total_env_steps, state.wall_seconds) == ("running", 20, 100, 2.0)
    assert state.attempts == 1
    assert folder.trial("b").state().status == "waiting"
    recorder["a"].add(TrialReport(row(100), done=True, finished=True, checkpoints=["x"]))
    assert recorder.write()
    state = folder.trial("a").state()
    assert (state.status, state.checkpoints, state.fraction_done) == ("finished", ["x"], 1.0)


def test_rows_after_the_checkpoint_are_cut(folder: GridFolder) -> None:
    begun(folder, 10, 20, 30).write()
    recorder = Recorder(folder)
    recorder["a"].start()
    recorder["a"].add(TrialReport(row(21), restored_rows=[row(10), row(20)]))
    recorder.write()
    assert steps_on_disk(folder) == [10, 20, 21]
    assert folder.trial("a").state().attempts == 2


def test_rows_that_were_lost_come_back_from_the_checkpoint(folder: GridFolder) -> None:
    begun(folder, 10).write()
    recorder = Recorder(folder)
    recorder["a"].add(TrialReport(row(40, win_rate=1.0), restored_rows=[row(10), row(20, win_rate=0.5), row(30)]))
    recorder.write()
    rows = folder.trial("a").rows()
    assert rows["env_steps"].tolist() == [10, 20, 30, 40]
    assert rows["win_rate"].dropna().tolist() == [0.5, 1.0]


def test_a_start_from_the_beginning_forgets_all_rows(folder: GridFolder) -> None:
    begun(folder, 10, 20).write()
    recorder = Recorder(folder)
    recorder["a"].add(TrialReport(row(5), restored_rows=[]))
    recorder.write()
    assert steps_on_disk(folder) == [5]


def test_rows_of_checkpoints_that_are_gone_are_kept_aside(folder: GridFolder) -> None:
    recorder = begun(folder, 10)
    recorder["a"].add(TrialReport(row(20), checkpoints=["x"]))
    recorder.write()
    recorder = Recorder(folder)
    recorder["a"].start()
    again = TrialReport(row(10), restored_rows=[])
    recorder["a"].add(again)
    assert recorder.write()
    assert steps_on_disk(folder) == [10]
    progress = folder.trial("a").progress
    kept = progress.with_name(f"{progress.name}.damaged")
    assert [found["env_steps"] for found in read_rows(kept)] == [10, 20]
    assert folder.trial("a").state().checkpoints == []
    assert "checkpoints are gone" in again.notes[0]


def test_a_failure_is_told_without_secrets(folder: GridFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI")
    recorder = begun(folder, 10)
    recorder["a"].fail("Traceback\n  File x\nOSError: s3://me:hunter22@bucket refused wJalrXUtnFEMI\n\n", again=True)
    recorder.write()
    state = folder.trial("a").state()
    assert (state.status, state.error) == ("waiting", "OSError: s3://***@bucket refused ***")
    assert "hunter22" not in folder.trial("a").error_file.read_text()
    recorder["a"].fail("ValueError: again", again=False)
    recorder.write()
    assert folder.trial("a").state().status == "failed"


def test_a_driver_that_ends_leaves_no_trial_running(folder: GridFolder) -> None:
    recorder = begun(folder, 10)
    recorder["a"].interrupt()
    recorder.write()
    assert folder.trial("a").state().status == "waiting"


def test_a_full_disk_loses_nothing(folder: GridFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = begun(folder, 10)
    recorder.write()
    append = RowWriter.append

    def half(self: RowWriter, values: Any) -> None:
        with folder.trial("a").progress.open("a") as file:
            file.write("20,2")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(RowWriter, "append", half)
    for steps in (20, 30):
        recorder["a"].add(TrialReport(row(steps)))
        assert not recorder.write()
    assert recorder.problem is not None
    assert recorder.failing_since is not None
    assert steps_on_disk(folder) == [10]
    assert folder.trial("a").state().env_steps == 10, "the state must not run ahead of the rows"
    monkeypatch.setattr(RowWriter, "append", append)
    assert recorder.write()
    assert recorder.failing_since is None
    assert steps_on_disk(folder) == [10, 20, 30]

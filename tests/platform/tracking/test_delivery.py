"""A grid's files in a real MLflow store: everything once, despite interruptions."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mlflow.entities import ViewType

from bonuslab.platform.run.folder import GridFolder, TrialFolder
from bonuslab.platform.run.rows import RowWriter, read_rows
from bonuslab.platform.tracking import delivery, points
from bonuslab.platform.tracking.cursor import read_cursor, undelivered
from bonuslab.platform.tracking.delivery import Busy, Delivery
from bonuslab.platform.tracking.points import metrics_of
from bonuslab.platform.tracking.problems import sentence
from bonuslab.platform.tracking.store import DATABASE, store_of

Deliver = Callable[..., str | None]


def test_everything_is_delivered(grid: GridFolder, deliver: Deliver, contents: Any) -> None:
    finished, failed, running, waiting = grid.trials()
    finished.video.write_bytes(b"GIF89a")
    finished.summary.write_bytes(b"PNG")
    state = finished.state()
    state.checkpoints = ["s3://key:secret@bucket/checkpoint"]
    state.write(finished.state_file)
    (grid.report / "figures").mkdir(parents=True)
    (grid.report / "figures" / "curves.svg").write_text("<svg/>")
    assert undelivered(grid, store_of(grid)).trials == 3
    assert deliver(grid) is None
    assert not undelivered(grid, store_of(grid))

    store = contents(grid)
    assert len(store.runs()) == 4  # the grid and the three trials that have begun
    run = store.run(finished)
    assert run.info.run_name == "none · KeyRoom-S5 · seed 0"
    assert run.info.status == "FINISHED"
    assert run.info.end_time == round(1_000 * state.updated) or run.info.end_time > run.info.start_time
    assert run.data.params == {
        "task": "KeyRoom-S5",
        "bonus": "none",
        "seed": "0",
        "preset": "laptop",
        "contexts": "inf",
        "algorithm": "impala",
        "serial": "True",
        "hyperparameters.lr": "0.001",
        "hyperparameters.total_env_steps": "100000",
    }
    assert run.data.tags["status"] == "finished"
    assert store.steps(finished) == [25_000, 50_000, 75_000, 100_000]
    points = store.client.get_metric_history(run.info.run_id, "win_rate")
    assert [point.value for point in points] == pytest.approx(finished.rows()["win_rate"].tolist())
    # Times are those of the training: 2,000 steps per second.
    assert [point.timestamp - run.info.start_time for point in points] == [12_500, 25_000, 37_500, 50_000]
    assert store.steps(finished, "evaluation/greedy/win_rate") == [100_000]
    assert store.run(failed).info.status == "FAILED"
    assert store.run(running).info.status == "RUNNING"
    parent = next(run for run in store.runs() if run.data.tags["bonuslab.kind"] == "grid")
    assert run.data.tags["bonuslab.grid_run"] == parent.info.run_id
    assert "mlflow.parentRunId" not in run.data.tags, "MLflow draws the parents of runs in every chart"
    assert parent.info.status == "RUNNING"

    files = grid.path / "mlartifacts"
    found = {path.relative_to(files).as_posix().split("/artifacts/")[1] for path in files.rglob("*.*")}
    assert found == {
        "trial.json",
        "checkpoints.json",
        "video.gif",
        "summary.png",
        "error.txt",
        "grid.json",
        "report/figures/curves.svg",
    }
    assert "secret" not in next(files.rglob("checkpoints.json")).read_text()
    assert not waiting.tracking_file.exists()


def test_second_delivery_adds_nothing(grid: GridFolder, deliver: Deliver, contents: Any) -> None:
    deliver(grid)
    before = contents(grid).steps(grid.trials()[0])
    for lost in ("nothing", "tracking.json", "the end of the cursor"):
        for trial in grid.trials()[:3]:
            if lost == "tracking.json":
                trial.tracking_file.unlink()
            elif lost == "the end of the cursor":  # killed between sending and writing it down
                text = trial.tracking_file.read_text()
                trial.tracking_file.write_text(text.replace('"delivered": "', '"delivered": "1'))
        assert deliver(grid) is None
        assert len(contents(grid).runs()) == 4
        assert contents(grid).steps(grid.trials()[0]) == before
    cursor = read_cursor(grid.trials()[0].tracking_file, DATABASE)
    assert cursor.delivered.startswith("4:100000:")
    assert cursor.checked == cursor.delivered


def test_unacknowledged_batch_is_not_duplicated(
    grid: GridFolder, deliver: Deliver, contents: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bonuslab.platform.tracking.connection import Connection

    def cut(self: Connection, cursor: Any, rows: Any, delivered: str) -> None:
        # All but the steps of the last row.
        self._client.log_batch(cursor.run_id, metrics_of(rows, *self._frame(cursor))[:-1])
        raise ConnectionError("failed with exception: the connection broke")

    monkeypatch.setattr(Connection, "log_rows", cut)
    problem = deliver(grid)
    assert problem is not None
    assert "does not respond" in problem
    monkeypatch.undo()
    assert deliver(grid) is None
    for trial in grid.trials()[:3]:
        assert contents(grid).steps(trial) == trial.rows()["env_steps"].tolist()
        assert contents(grid).steps(trial, "env_steps") == trial.rows()["env_steps"].tolist()


def same_in_store(grid: GridFolder, contents: Any, trial: TrialFolder) -> None:
    """The only active run of a trial has each value of its progress.csv once, and no other."""
    store = contents(grid)
    run = store.run(trial)
    held = sorted(
        (name, point.step, point.value)
        for name in run.data.metrics
        for point in store.client.get_metric_history(run.info.run_id, name)
    )
    rows = read_rows(trial.progress)
    assert held == sorted((name, int(row["env_steps"]), value) for row in rows for name, value in row.items())


def test_a_rewound_trial_gets_a_run_of_its_own(
    grid: GridFolder, contents: Any, append_row: Callable[..., None]
) -> None:
    running = grid.trials()[2]
    work = Delivery(grid, store_of(grid))
    assert work.deliver(driven=True) is None
    first = contents(grid).run(running)
    RowWriter(running.progress).cut_after(25_000)
    append_row(running, 40_000)
    append_row(running, 60_000, rooms=3.0)  # a column that is new, and a file that was rewritten
    assert undelivered(grid, store_of(grid)).rows == 3, "the store has other rows than the trial"
    assert work.deliver(driven=True) is None
    append_row(running, 70_000)
    assert work.deliver(driven=True) is None
    assert contents(grid).steps(running) == [25_000, 40_000, 60_000, 70_000]
    same_in_store(grid, contents, running)
    second = contents(grid).run(running)
    assert (first.data.tags["attempt"], second.data.tags["attempt"]) == ("1", "2")
    assert second.data.params == first.data.params
    old = contents(grid).client.get_run(first.info.run_id)
    assert (old.info.lifecycle_stage, old.info.status) == ("deleted", "KILLED")
    assert "rewound" in old.data.tags["bonuslab.withdrawn"]
    assert read_cursor(running.tracking_file, DATABASE).run_id == second.info.run_id
    work.close()


@pytest.mark.parametrize("remembered", [True, False], ids=["one-process", "a-new-process-each-time"])
def test_store_equals_the_file_after_any_rewinds(
    grid: GridFolder, contents: Any, deliver: Deliver, append_row: Callable[..., None], remembered: bool
) -> None:
    rng = random.Random(int(remembered))
    running, work, step = grid.trials()[2], Delivery(grid, store_of(grid)), 50_000
    for number in range(12):
        if rng.random() < 0.5:
            step = rng.choice([0, *(int(row["env_steps"]) for row in read_rows(running.progress))])
            RowWriter(running.progress).cut_after(step)
        for _ in range(rng.randrange(4)):
            step += 1_000
            append_row(running, step, win_rate=rng.random(), wall_seconds=number + step / 2_000)
        if rng.random() < 0.7:
            assert (work.deliver(driven=True) if remembered else deliver(grid)) is None
            same_in_store(grid, contents, running)
    assert work.deliver(driven=False) is None
    work.close()
    same_in_store(grid, contents, running)
    assert not undelivered(grid, store_of(grid))
    deleted = contents(grid).client.search_runs(
        [contents(grid).run(running).info.experiment_id], run_view_type=ViewType.DELETED_ONLY
    )
    assert len(deleted) >= 2
    assert {run.data.tags["bonuslab.trial_id"] for run in deleted} == {running.id}


def test_rows_below_the_checkpoint_stay_in_their_run(
    grid: GridFolder, contents: Any, deliver: Deliver, append_row: Callable[..., None]
) -> None:
    running = grid.trials()[2]
    deliver(grid)
    before = contents(grid).run(running).info.run_id
    append_row(running, 60_000)  # never delivered, and lost with its process
    RowWriter(running.progress).cut_after(50_000)
    append_row(running, 60_000, win_rate=0.25)
    deliver(grid)
    assert contents(grid).run(running).info.run_id == before
    same_in_store(grid, contents, running)


def test_the_closing_check_reads_the_store_itself(
    grid: GridFolder, deliver: Deliver, contents: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bonuslab.platform.tracking.connection import Connection

    running = grid.trials()[2]
    assert deliver(grid) is None
    with closing(sqlite3.connect(grid.path / DATABASE)) as database, database:
        # What no step number tells: a value of another attempt, and one that was never written.
        run_id = contents(grid).run(running).info.run_id
        change = "UPDATE metrics SET value = 0.125 WHERE run_uuid = ? AND key = 'win_rate' AND step = 25000"
        assert database.execute(change, [run_id]).rowcount == 1
        lack = "DELETE FROM metrics WHERE run_uuid = ? AND key = 'entropy'"
        assert database.execute(lack, [run_id]).rowcount == 2
    assert deliver(grid, driven=False) is None
    same_in_store(grid, contents, running)
    assert contents(grid).run(running).info.run_id != run_id

    failed = grid.trials()[1]
    RowWriter(failed.progress).append({"env_steps": 30_000, "win_rate": 0.5, "wall_seconds": 15.0})
    monkeypatch.setattr(Connection, "difference", lambda *_: ({("win_rate", 1, 2, 0.5)}, set()))
    problem = str(deliver(grid, driven=False))
    assert "other values than were sent (1 lacking, 0 unknown)" in problem
    assert failed.id in problem


def test_a_deleted_database_is_named_and_filled_again(
    grid: GridFolder, contents: Any, append_row: Callable[..., None], empty_database: Path
) -> None:
    running = grid.trials()[2]
    work = Delivery(grid, store_of(grid))
    assert work.deliver(driven=True) is None
    for again in ("nothing", "an empty one"):
        (grid.path / DATABASE).unlink()
        if again == "an empty one":
            shutil.copy(empty_database, grid.path / DATABASE)
        append_row(running, running.state().env_steps + 10_000)
        problem = str(work.deliver(driven=True))
        assert problem.endswith("mlflow.db was deleted or replaced; a new one gets everything again")
        assert work.lost
        assert work.deliver(driven=True) is None
        assert not work.lost
        with closing(sqlite3.connect(grid.path / DATABASE)) as database:  # MLflow's own client holds the old file
            counts = "SELECT count(*), (SELECT count(*) FROM metrics WHERE key = 'win_rate') FROM runs"
            rows = sum(len(read_rows(trial.progress)) for trial in grid.trials())
            assert database.execute(counts).fetchone() == (4, rows)
    work.close()


def test_a_damaged_database_is_set_aside_and_replaced(
    grid: GridFolder, deliver: Deliver, append_row: Callable[..., None], empty_database: Path, tmp_path: Path
) -> None:
    file, work = grid.path / DATABASE, Delivery(grid, store_of(grid))
    assert work.deliver(driven=True) is None
    with file.open("r+b") as database:
        database.write(random.Random(0).randbytes(4_096))
    damaged = file.read_bytes()
    append_row(grid.trials()[2], 75_000)
    problem = str(work.deliver(driven=True))
    assert problem.endswith("mlflow.db was damaged and is now mlflow.db.damaged; a new one gets everything again")
    assert work.lost
    shutil.copy(empty_database, file)  # making one takes seconds
    assert work.deliver(driven=True) is None
    work.close()
    assert (grid.path / "mlflow.db.damaged").read_bytes() == damaged
    with closing(sqlite3.connect(file)) as store:
        assert store.execute("SELECT count(*) FROM metrics WHERE key = 'win_rate'").fetchone() == (8,)
    other = tmp_path / "other.db"  # which may hold what is nowhere else
    other.write_bytes(damaged)
    assert "move it away" in str(deliver(grid, f"sqlite:///{other}"))
    assert other.read_bytes() == damaged


def test_status_changes_back_and_forth(grid: GridFolder, deliver: Deliver, contents: Any) -> None:
    running, failed = grid.trials()[2], grid.trials()[1]
    deliver(grid, driven=False)  # the driver was killed
    assert contents(grid).run(running).info.status == "KILLED"
    state = failed.state()
    state.status = "running"
    state.write(failed.state_file)
    deliver(grid)  # and the grid resumed
    assert contents(grid).run(running).info.status == "RUNNING"
    assert contents(grid).run(failed).info.status == "RUNNING"
    assert contents(grid).run(failed).data.tags["status"] == "running"


def test_requests_hold_complete_rows(
    grid: GridFolder, deliver: Deliver, contents: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(points, "METRICS_PER_REQUEST", 25)
    assert deliver(grid) is None
    assert contents(grid).steps(grid.trials()[0], "entropy") == [25_000, 50_000, 75_000, 100_000]


def test_metrics_arrive_if_files_cannot(
    grid: GridFolder, deliver: Deliver, contents: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bonuslab.platform.tracking.connection import Connection

    def refuse(self: Connection, cursor: Any, artifact: Any) -> None:
        raise ModuleNotFoundError("No module named 'boto3'")

    monkeypatch.setattr(Connection, "put", refuse)
    assert "No module named 'boto3'" in str(deliver(grid))
    assert contents(grid).steps(grid.trials()[0]) == [25_000, 50_000, 75_000, 100_000]
    assert contents(grid).run(grid.trials()[0]).info.status == "FINISHED"
    monkeypatch.undo()
    assert deliver(grid) is None
    assert list(grid.path.glob("mlartifacts/**/trial.json"))


def test_another_store_gets_everything(
    grid: GridFolder, deliver: Deliver, contents: Any, empty_database: Path, tmp_path: Path
) -> None:
    deliver(grid)
    other = tmp_path / "elsewhere" / "other.db"
    other.parent.mkdir()
    shutil.copy(empty_database, other)
    uri = f"sqlite:///{other}"
    assert undelivered(grid, store_of(grid, uri)).rows == 7
    assert deliver(grid, uri) is None
    assert contents(grid, uri).steps(grid.trials()[0]) == [25_000, 50_000, 75_000, 100_000]
    assert list((tmp_path / "elsewhere" / "mlartifacts").rglob("trial.json"))
    other.unlink()  # a store that lost everything gets everything again
    shutil.copy(empty_database, other)
    assert deliver(grid, uri) is None
    assert contents(grid, uri).steps(grid.trials()[0]) == [25_000, 50_000, 75_000, 100_000]


def test_grids_of_one_name_stay_apart_in_one_store(
    make_grid: Callable[..., GridFolder], deliver: Deliver, contents: Any
) -> None:
    first, second = make_grid("one/grid"), make_grid("two/grid")
    for grid, identity in ((first, "a" * 12), (second, "b" * 12)):
        grid.write(replace(grid.description(), options={"id": identity}))
    shared = store_of(first).uri
    works = [Delivery(grid, store_of(grid, shared)) for grid in (first, second)]
    for _ in range(2):
        assert [work.deliver(driven=True) for work in works] == [None, None]
    for work in works:
        work.close()
    assert len(contents(first).runs()) == 8
    assert len({run.info.experiment_id for run in contents(first).runs()}) == 1


def test_only_one_process_delivers(grid: GridFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "LOCK_SECONDS", 0.1)
    first, second = Delivery(grid, store_of(grid)), Delivery(grid, store_of(grid))
    assert first.deliver(driven=True) is None
    with pytest.raises(Busy):
        second.deliver(driven=True)
    first.close()
    assert second.deliver(driven=True) is None
    second.close()


def test_unusable_stores_are_reported_in_one_sentence(
    grid: GridFolder, deliver: Deliver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bonuslab.platform.tracking import connection

    monkeypatch.setattr(connection, "_LOCK_SECONDS", 0.1)
    other = sqlite3.connect(grid.path / DATABASE)
    other.execute("BEGIN EXCLUSIVE")
    assert "is locked by another program" in str(deliver(grid))
    other.close()
    (tmp_path / "folder.db").mkdir()
    assert "cannot be opened" in str(deliver(grid, f"sqlite:///{tmp_path}/folder.db"))
    (tmp_path / "junk.db").write_text("junk" * 1_000)
    assert "not a database" in str(deliver(grid, f"sqlite:///{tmp_path}/junk.db"))
    refused = str(deliver(grid, "http://me:secret@127.0.0.1:9"))
    assert "does not respond" in refused
    assert "secret" not in refused
    assert deliver(grid) is None


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        ("(sqlite3.OperationalError) attempt to write a readonly database", "read-only"),
        ("(sqlite3.OperationalError) database or disk is full", "the disk is full"),
        ("[Errno 28] No space left on device: 'x'", "the disk is full"),
        ("API request to endpoint /x failed with error code 401 != 200", "MLFLOW_TRACKING_USERNAME"),
        ("something new at http://me:secret@host\nwith a second line", "something new at http://***@host"),
    ],
)
def test_problems_are_plain(grid: GridFolder, raised: str, expected: str) -> None:
    text = sentence(RuntimeError(raised), store_of(grid))
    assert expected in text
    assert "\n" not in text

"""The chaos program: its plan, its look at MLflow, and two real faults."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from pathlib import Path

import pytest

from bonuslab.envs.scratch import ScratchFolder, memory_folder
from bonuslab.experiments import chaos, chaos_faults
from bonuslab.experiments.chaos_checks import abandoned, shared_memory, tracked_rows
from bonuslab.experiments.chaos_grids import SCALES


def test_faults_go_to_grids_that_have_what_they_break() -> None:
    grids = chaos.plan(100, chaos_faults.FAULTS, list(SCALES), random.Random(0))
    tried = Counter(fault for _, faults in grids for fault in faults)
    assert sum(tried.values()) == 100
    assert set(tried) == set(chaos_faults.FAULTS)
    assert max(tried.values()) - min(tried.values()) <= 1
    assert all(chaos_faults.ONLY_IN.get(fault, scale) == scale for scale, faults in grids for fault in faults)
    assert all(len(faults) <= chaos.FAULTS_PER_GRID for _, faults in grids)
    assert {scale for scale, _ in grids} == set(SCALES)
    with pytest.raises(SystemExit, match="none of these faults"):
        chaos.plan(1, ["learner"], ["serial"], random.Random(0))


def test_rows_in_mlflow_are_read_run_by_run(tmp_path: Path) -> None:
    database = tmp_path / "mlflow.db"
    with sqlite3.connect(database) as store:
        store.execute("create table runs (run_uuid text, lifecycle_stage text)")
        store.execute("create table tags (run_uuid text, key text, value text)")
        store.execute("create table metrics (run_uuid text, key text, step integer, value real)")
        store.executemany("insert into runs values (?, ?)", [("r1", "deleted"), ("r2", "active"), ("g", "active")])
        kinds = [("r1", "trial"), ("r2", "trial"), ("g", "grid")]
        store.executemany("insert into tags values (?, 'bonuslab.kind', ?)", kinds)
        store.executemany("insert into tags values (?, 'bonuslab.trial_id', 'one')", [("r1",), ("r2",)])
        points = [("env_steps", 64), ("iteration", 1), ("wall_seconds", 2.5), ("win_rate", 0.5)]
        store.executemany("insert into metrics values ('r1', ?, 64, ?)", points)
        store.executemany("insert into metrics values ('r2', ?, 64, ?)", points)
        store.execute("insert into metrics values ('r2', 'wall_seconds', 64, 3.5)")  # a second attempt in the same run
    assert tracked_rows(database) == {"one": [[(64, 1, 2.5, 3.5)]]}


def test_only_folders_without_an_owner_are_abandoned() -> None:
    before = shared_memory()
    folder = ScratchFolder("games", memory_folder())
    try:
        assert folder.path.name not in abandoned(shared_memory() - before)
    finally:
        folder.remove()


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.timeout(3_600)
def test_a_grid_survives_a_killed_trial_and_a_deleted_database(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--faults", "2", "--only", "trial", "database deleted", "--grids", "impala", "--out", str(tmp_path)]
    status = chaos.main(words)
    assert status == 0, capsys.readouterr().out
    assert "database deleted" in (tmp_path / "chaos.csv").read_text()

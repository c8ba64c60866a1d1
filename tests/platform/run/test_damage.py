"""Damaged files: every reader works on the rest and changes nothing; the owner sets them aside and rebuilds them."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.api.handles import load
from bonuslab.platform.board.grid_watch import GridWatch
from bonuslab.platform.board.links import mlflow_run
from bonuslab.platform.cli.main import main
from bonuslab.platform.report import provenance, trial_results
from bonuslab.platform.run.damage import name_damage, trial_damage
from bonuslab.platform.run.find import find
from bonuslab.platform.run.folder import GRID_COPY, GRID_FILE, TRIAL_FILE, GridFolder
from bonuslab.platform.run.repair import repair
from bonuslab.platform.tracking.cursor import Cursor, undelivered, write_cursor
from bonuslab.platform.tracking.store import DATABASE, store_of

VARIANTS = 12
"""Of each of the five files."""
WRONG = [None, [], {}, "x", "", -1, 1e308, float("nan"), float("inf"), 10**400, 2**70, True, "\0", "\ud800", "../../x"]


def api(path: Path) -> None:
    grid = load(path)
    assert repr(grid)
    assert len(grid.metrics.columns)  # type: ignore[union-attr]
    for run in grid:  # type: ignore[union-attr]
        assert repr(run)


def report(path: Path) -> None:
    results, _ = trial_results.load(find(path).grid, lambda names: "win_rate")
    provenance.provenance(results)
    provenance.origin(results.description)


def board(path: Path) -> None:
    json.dumps(GridWatch(path).changes(), allow_nan=False)
    for trial in find(path).grid.trials():
        assert set(mlflow_run(trial.tracking_file, DATABASE, None)) <= {"run"}


def track(path: Path) -> None:
    folder = find(path).grid
    undelivered(folder, store_of(folder, None))


READERS = [api, board, report, track, lambda path: name_damage(find(path).grid)]


@pytest.fixture
def grid(tmp_path: Path, write_sample_grid: Callable[..., GridFolder]) -> GridFolder:
    folder = write_sample_grid(tmp_path / "grid", tasks=("KeyRoom-S5",), seeds=(0,), rows=5)
    write_cursor(folder.trials()[0].tracking_file, DATABASE, Cursor(run_id="a1", experiment_id="1"))
    return folder


def places(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, one in inner for place in places(one, (*path, key)))]


def changed(data: bytes, chance: random.Random) -> bytes:
    """JSON with one value replaced or left out."""
    value = {"": json.loads(data)}
    *way, last = "", *chance.choice(places(value[""]))
    inside = value
    for key in way:
        inside = inside[key]  # type: ignore[index]
    if chance.random() < 0.3:
        del inside[last]
    else:
        inside[last] = chance.choice(WRONG)
    return json.dumps(value.get("")).encode()


def damaged(data: bytes, name: str, chance: random.Random) -> bytes | None:
    """A damaged version of a file; None for a directory in its place."""
    at, bits = chance.randrange(len(data)), chance.randrange(1, 256)
    ways = [
        lambda: data[:at] + bytes([data[at] ^ bits]) + data[at + 1 :],
        lambda: data[:at],
        lambda: data[:at] + chance.choice([b"\0", b"\xff", b",", b"\n", b'"']) + data[at:],
        lambda: bytes(len(data)),
        lambda: b"",
        lambda: b"[" * chance.choice([100, 900, 100_000]),
        lambda: b'{"env_steps": ' + b"9" * 5_000 + b"}",
        lambda: None,
    ]
    return chance.choice(ways + [lambda: changed(data, chance)] * (8 if name.endswith("json") else 0))()


@pytest.mark.parametrize("name", [GRID_FILE, TRIAL_FILE, "state.json", "progress.csv", "tracking.json"])
def test_readers_work_on_the_rest_and_change_nothing(grid: GridFolder, name: str) -> None:
    file = grid.path / name if name == GRID_FILE else grid.trials()[0].path / name
    data, chance = file.read_bytes(), random.Random(0)
    for _ in range(VARIANTS):
        content = damaged(data, name, chance)
        if name == GRID_FILE and content is None:
            content = b"[]"  # the board takes a folder in its place for a grid that has been moved
        if file.is_dir():
            file.rmdir()
        if content is None:
            file.unlink()
            file.mkdir()
        else:
            file.write_bytes(content)
        before = {path: path.stat().st_mtime_ns for path in grid.path.rglob("*")}
        for read in READERS:
            read(grid.path)
        assert {path: path.stat().st_mtime_ns for path in grid.path.rglob("*")} == before
        assert content is None or file.read_bytes() == content
        assert len(find(grid.path).grid.trials()) == 4


def test_a_grid_without_an_intact_copy_is_named(grid: GridFolder) -> None:
    data, chance = (grid.path / GRID_FILE).read_bytes(), random.Random(1)
    (grid.path / GRID_COPY).unlink()
    for _ in range(VARIANTS):
        (grid.path / GRID_FILE).write_bytes(changed(data, chance))
        for read in READERS:
            try:
                read(grid.path)
            except InvalidInput as error:
                assert str(grid.path) in str(error) or "grid.json" in str(error)  # noqa: PT017 (most are readable)


def test_damage_is_named_in_one_sentence(grid: GridFolder, capsys: pytest.CaptureFixture[str]) -> None:
    victim = grid.trials()[1]
    victim.state_file.write_bytes(b"\xff")
    (victim.path / TRIAL_FILE).write_text("[]")
    victim.progress.write_text(victim.progress.read_text() + "1,2\n")
    (grid.path / GRID_FILE).write_text("{")
    name_damage(grid)
    said = capsys.readouterr().err.splitlines()
    assert said == [
        f"bonuslab: {grid.path / GRID_FILE} cannot be read: Expecting property name enclosed in double quotes: "
        "line 1 column 2 (char 1)",
        f"bonuslab: {victim.path / TRIAL_FILE} cannot be read: it is not a JSON object",
        f"bonuslab: {victim.state_file} cannot be read: it is not UTF-8",
        f"bonuslab: {victim.progress} cannot be read: 1 of its lines are not rows",
    ]
    assert victim.state().error == f"{victim.state_file} cannot be read: it is not UTF-8"


@pytest.fixture
def run(finished_run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished_run, tmp_path / "run"))


def repaired(path: Path) -> list[str]:
    folder = GridFolder.open(path)
    return repair(folder, lambda trial: str(folder.checkpoints / folder.description().generation_id(trial)))


def test_a_whole_grid_needs_no_repair(run: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*")}
    assert repaired(run) == []
    assert {path: path.stat().st_mtime_ns for path in run.rglob("*")} == before


def test_a_finished_trial_is_rebuilt_from_its_checkpoint(run: Path) -> None:
    trial = find(run).require_trial()
    state, rows, description = trial.state(), trial.rows(), trial.description()
    files = [run / GRID_FILE, trial.path / TRIAL_FILE, trial.state_file, trial.progress]
    for file in files:
        file.write_bytes(b"\xff\xfe")
    (trial.path / "state.json.damaged").write_text("of an earlier time")
    notes = repaired(run)
    assert [file.name in note for file, note in zip(files, notes, strict=False)] == [True] * 4
    for file in files:
        aside = file.with_name(f"{file.name}.damaged{'-2' if file == trial.state_file else ''}")
        assert aside.read_bytes() == b"\xff\xfe"
    assert (trial.path / "state.json.damaged").read_text() == "of an earlier time"
    pd.testing.assert_frame_equal(trial.rows(), rows)
    after = trial.state()
    assert (after.status, after.env_steps, after.wall_seconds) == ("finished", state.env_steps, state.wall_seconds)
    assert [Path(one).name for one in after.checkpoints] == [Path(one).name for one in state.checkpoints]
    assert trial.description() == description
    assert not {path for path in trial_damage(trial) if path != trial.path / TRIAL_FILE}


def test_a_trial_without_checkpoint_keeps_its_intact_rows(run: Path) -> None:
    trial = find(run).require_trial()
    rows = trial.rows()
    shutil.rmtree(run / "checkpoints")
    trial.state_file.unlink()
    os.mkfifo(trial.state_file)
    lines = trial.progress.read_text().splitlines(keepends=True)
    trial.progress.write_text("".join([*lines[:-1], "x,", lines[-1]]))
    repaired(run)
    pd.testing.assert_frame_equal(trial.rows(), rows[:-1])
    assert trial.state().status == "waiting"


def test_a_damaged_run_is_resumed(run: Path, tiny: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    trial = find(run).require_trial()
    before = trial.rows()
    trial.state_file.write_text("{")
    trial.progress.write_text("nonsense\n1\n")
    assert main(["train", "--resume", str(run), "--steps", str(6 * tiny.BATCH)]) == 0
    said = capsys.readouterr().out
    assert "state.json cannot be read: " in said
    assert "it is now progress.csv.damaged" in said
    after = trial.rows()
    pd.testing.assert_frame_equal(after[: len(before)][before.columns], before)
    assert (trial.state().status, after["env_steps"].tolist()[-1]) == ("finished", 6 * tiny.BATCH)

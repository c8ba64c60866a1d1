"""The board follows a grid's folder: it sends only changes, and notices a new or damaged grid."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bonuslab.envs.errors import InvalidInput
from bonuslab.platform.board import grid_watch
from bonuslab.platform.board.driver import is_locked
from bonuslab.platform.board.grid_watch import GridWatch
from bonuslab.platform.board.grids import Grids
from bonuslab.platform.board.layout import layout_of
from bonuslab.platform.run.folder import FORMAT, GRID_COPY, GRID_FILE, GridDescription, GridFolder, TrialDescription
from bonuslab.platform.run.rows import RowWriter

pytestmark = pytest.mark.usefixtures("always_read")


@pytest.fixture
def grid(tmp_path: Path, write_sample_grid: Callable[..., GridFolder]) -> GridFolder:
    return write_sample_grid(tmp_path / "grid", seeds=(0, 1), rows=10)


def by_status(cells: list[dict], status: str) -> dict:
    return next(cell for cell in cells if cell["status"] == status)


def test_sends_everything_first_and_then_changes(grid: GridFolder) -> None:
    watch = GridWatch(grid.path)
    first = watch.changes()
    assert len(first["cells"]) == 16
    assert first["summary"]["counts"] == {"finished": 13, "failed": 1, "running": 1, "waiting": 1}
    assert first["summary"]["left"] == pytest.approx(25 + 50)
    running = by_status(first["cells"], "running")
    assert (running["share"], running["left"], running["column"]) == (0.5, 25.0, "win_rate")
    assert by_status(first["cells"], "failed")["error"].startswith("RuntimeError")
    second = watch.changes(first["version"])
    assert second["cells"] == []
    assert "layout" not in second

    folder = grid.trial(running["id"])
    RowWriter(folder.progress).append({"env_steps": 60_000, "win_rate": 0.9, "episode_return": 0.8})
    replace(folder.state(), env_steps=60_000, wall_seconds=30.0).write(folder.state_file)
    third = watch.changes(second["version"])
    assert [cell["id"] for cell in third["cells"]] == [running["id"]]
    assert third["cells"][0]["metric"] == 0.9
    # Another client that asked before still gets it.
    assert watch.changes(first["version"])["cells"] == third["cells"]
    for foreign in ("", "0.0", "someone.else", f"{first['version'].split('.')[0]}.x"):
        assert len(watch.changes(foreign)["cells"]) == 16


def test_a_trial_without_the_metric_shows_the_nearest_one(grid: GridFolder) -> None:
    description = grid.description()
    grid.write(replace(description, options={"metric": "evaluation/greedy/win_rate"}))
    cells = GridWatch(grid.path).changes()["cells"]
    assert by_status(cells, "finished")["column"] == "evaluation/greedy/win_rate"
    assert by_status(cells, "running")["column"] == "win_rate"
    assert by_status(cells, "waiting")["metric"] is None


def test_survives_a_replaced_folder(grid: GridFolder, write_sample_grid: Callable[..., GridFolder]) -> None:
    watch = GridWatch(grid.path)
    version = watch.changes()["version"]
    os.replace(grid.path, grid.path.with_name("grid.aside"))
    with pytest.raises(InvalidInput, match="no longer exists"):
        watch.changes(version)
    write_sample_grid(grid.path, tasks=("Corridor-R5",), seeds=(7,))
    after = watch.changes(version)
    assert [row["label"] for row in after["layout"]["rows"]] == ["Corridor-R5"]
    assert len(after["cells"]) == 4
    assert Grids(grid.path.parent).names() == ["grid", "grid.aside"]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"status": "dancing"}', '{"env_steps": "many"}', '{"wall_seconds": NaN}', '{"error": 3}']
)
def test_a_damaged_state_is_shown_and_affects_no_other(grid: GridFolder, text: str) -> None:
    victim = grid.trials()[0]
    victim.state_file.write_text(text)
    watch = GridWatch(grid.path)
    answer = watch.changes()
    assert answer["summary"]["counts"] == {"unreadable": 1, "finished": 12, "failed": 1, "running": 1, "waiting": 1}
    assert by_status(answer["cells"], "unreadable")["error"].startswith("state.json cannot be read")
    json.dumps(answer, allow_nan=False)
    grid.trials()[1].state().write(victim.state_file)
    assert [cell["status"] for cell in watch.changes(answer["version"])["cells"]] == ["finished"]


FRONT = f'"format": {FORMAT}, "name": "x"'
BARE = f'{FRONT}, "experiment": "x", "scale": "x", "trials": []'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        *(
            f"{{{text}}}"
            for text in (FRONT, f'{FRONT}, "trials": 3', f'{BARE}, "options": 3', f'{BARE}, "commands": ["x"]')
        ),
    ],
)
def test_a_damaged_grid_is_named_in_the_list_of_grids(grid: GridFolder, text: str) -> None:
    shutil.copytree(grid.path, grid.path.with_name("whole"))
    for name in (GRID_FILE, GRID_COPY):
        (grid.path / name).write_text(text)
    lines = {line["id"]: line for line in Grids(grid.path.parent).index()}
    assert "cannot be read" in lines["grid"]["problem"]
    assert lines["whole"]["summary"]["trials"] == 16


def test_a_trial_outside_the_grid_is_refused(grid: GridFolder) -> None:
    file = grid.path / GRID_FILE
    values = json.loads(file.read_text())
    values["trials"][0]["id"] = "../../secret"
    file.write_text(json.dumps(values))
    (grid.path / GRID_COPY).unlink()
    with pytest.raises(InvalidInput, match="not a valid folder name"):
        GridWatch(grid.path).changes()


def test_notices_whether_a_driver_is_running(grid: GridFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = GridWatch(grid.path)
    monkeypatch.setattr(grid_watch, "QUIET_SECONDS", {"running": -1.0, "waiting": -1.0})
    assert is_locked(grid.path) is False
    summary = watch.changes()["summary"]
    assert (summary["interrupted"], summary["left"], summary["speed"]) == (True, None, 0.0)
    grid.lock()
    assert is_locked(grid.path) is True
    assert watch.changes()["summary"]["interrupted"] is False
    grid.release()


def test_frequent_requests_cause_no_more_reads(grid: GridFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid_watch, "REFRESH_SECONDS", (3600.0, 3600.0))
    reads: list[None] = []
    original = GridWatch._read_description
    monkeypatch.setattr(GridWatch, "_read_description", lambda self: (reads.append(None), original(self))[1])
    watch = GridWatch(grid.path)
    answers = [watch.changes() for _ in range(5)]
    assert len(reads) == 1
    assert 0 < answers[-1]["wait"] <= 3600


def test_layout_orders_bonuses_by_scope_and_names_what_varies() -> None:
    def trial(task: str, bonus: str, scope: str, seed: int, contexts: str) -> TrialDescription:
        labels = {"task": task, "bonus": bonus, "scope": scope, "seed": str(seed), "contexts": contexts, "variant": ""}
        return TrialDescription(f"{task}-{bonus}-{seed}-{contexts}", {}, {}, labels)

    bonuses = [("e3b * rnd", "combined"), ("none", "none"), ("e3b", "episodic"), ("rnd", "global")]
    trials = [trial("A", *bonus, seed, contexts) for bonus in bonuses for seed in (3, 1) for contexts in ("inf", "10")]
    layout = layout_of(GridDescription("g", "x", "y", trials))
    assert [panel["label"] for panel in layout["panels"]] == ["none", "rnd", "e3b", "e3b * rnd"]
    assert [panel["note"] for panel in layout["panels"]] == [""] * 4
    assert [(row["label"], row["note"]) for row in layout["rows"]] == [("A", "inf contexts"), ("A", "10 contexts")]
    assert layout["seeds"] == ["3", "1"]
    assert len({(cell["panel"], cell["row"], cell["seed"]) for cell in layout["trials"]}) == len(trials)
    assert layout["trials"][0] == {"id": "A-e3b * rnd-3-inf", "panel": 3, "row": 0, "seed": 0}

"""One trial in this process: its rows, going on from a checkpoint, stopping early, and its pictures."""

from __future__ import annotations

import itertools
import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from bonuslab.platform.pictures.trial_pictures import pictures_of
from bonuslab.platform.run.checkpoints import CheckpointStore
from bonuslab.platform.run.config import RunSettings
from bonuslab.platform.run.training import Report, Row, TrialRun, steps_a_row

BATCH = 32
NUMBERS = {"envs_per_batch": 4, "unroll_length_steps": 8, "minibatches": 2, "passes": 1}
TIMES = ("wall_seconds", "env_steps_per_second", "learnt_steps_per_second")


def settings(batches: int, **changes: Any) -> RunSettings:
    values: dict[str, Any] = {
        "task": "MultiRoom-N2-S4",
        "bonus": "e3b * rnd",
        "serial": True,
        "seed": 3,
        "overrides": tuple(NUMBERS.items()),
        "evaluate_every_steps": 0,
        "total_env_steps": batches * BATCH,
    }
    return RunSettings(**{**values, **changes})


def run(wanted: RunSettings, place: Path, stop_after: int | None = None) -> list[Report]:
    """All reports of one attempt, which is asked to stop after so many."""
    reports: list[Report] = []
    trial = TrialRun(
        wanted,
        wanted.config(),
        CheckpointStore(str(place)),
        stopping=lambda: stop_after is not None and len(reports) >= stop_after,
    )
    trial._asked_at = float("-inf")
    try:
        while not reports or not reports[-1].done:
            trial._asked_at = float("-inf")
            reports.append(Report.from_text(trial.next_report().as_text()))
    finally:
        trial.close()
    return reports


def rows(reports: list[Report]) -> list[Row]:
    found = [report.row for report in reports if report.row]
    return [{name: value for name, value in row.items() if name not in TIMES} for row in found]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Report], Path]:
    """Eight batches without an interruption."""
    place = tmp_path_factory.mktemp("whole")
    return run(settings(8, evaluate_every_steps=None), place), place


def test_rows_of_a_whole_trial(whole: tuple[list[Report], Path]) -> None:
    reports, place = whole
    found = [report.row for report in reports if report.row]
    assert [row["env_steps"] for row in found] == [BATCH * number for number in range(1, 9)]
    assert all(earlier["wall_seconds"] < later["wall_seconds"] for earlier, later in itertools.pairwise(found))
    assert "evaluation/sampled/win_rate" in found[-1]
    assert "evaluation/sampled/win_rate" not in found[-2]
    assert {"win_rate", "bonus/mean", "policy_loss"} <= set(found[-1])
    assert reports[0].beginning == []
    assert reports[1].beginning is None
    assert (reports[-1].done, reports[-1].finished) == (True, True)
    assert [Path(kept).name for kept in reports[-1].checkpoints] == ["checkpoint_000000000256"]
    assert [path.name for path in place.iterdir()] == ["checkpoint_000000000256"]


def test_stopped_and_continued_is_the_same_as_never_stopped(whole: tuple[list[Report], Path], tmp_path: Path) -> None:
    wanted = settings(8, evaluate_every_steps=None)
    first = run(wanted, tmp_path, stop_after=3)
    assert (first[-1].done, first[-1].finished) == (True, False)
    second = run(wanted, tmp_path)
    assert second[0].beginning == [report.row for report in first if report.row]
    assert rows(first) + rows(second) == rows(whole[0])
    times = [report.row["wall_seconds"] for report in first + second if report.row]
    assert times == sorted(times)


def test_a_finished_trial_only_tells_its_rows_again(whole: tuple[list[Report], Path]) -> None:
    again = run(settings(8, evaluate_every_steps=None), whole[1])
    assert len(again) == 1
    assert again[0].beginning == [report.row for report in whole[0] if report.row]
    assert (again[0].row, again[0].finished) == (None, True)


def test_a_damaged_checkpoint_costs_only_the_way_from_the_one_before(
    whole: tuple[list[Report], Path], tmp_path: Path
) -> None:
    wanted = settings(8, evaluate_every_steps=None, checkpoint_every_steps=2 * BATCH)
    run(wanted, tmp_path, stop_after=5)
    kept = sorted(tmp_path.iterdir())
    assert [path.name[-3:] for path in kept] == ["128", "160"]
    next(kept[-1].rglob("*.pkl")).write_bytes(b"torn")
    reports = run(wanted, tmp_path)
    assert len(reports[0].notes) == 1
    assert "does not match its checksum" in reports[0].notes[0]
    assert [row["env_steps"] for row in rows(reports)] == [160, 192, 224, 256]
    assert rows(reports) == rows(whole[0])[4:]


def test_a_checkpoint_that_cannot_be_written_stops_only_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: Any, **options: Any) -> list[str]:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(CheckpointStore, "save", full)
    wanted = settings(2, checkpoint_every_steps=BATCH)
    trial = TrialRun(wanted, wanted.config(), CheckpointStore(str(tmp_path)))
    try:
        report = trial.next_report()
        assert report.row is not None
        assert "No space left" in report.notes[0]
        with pytest.raises(OSError, match="No space left"):
            trial.next_report()
    finally:
        trial.close()


def test_the_pictures_of_a_trial(whole: tuple[list[Report], Path], tmp_path: Path) -> None:
    from PIL import Image

    pictures = pictures_of(CheckpointStore(str(whole[1])))
    with Image.open(BytesIO(pictures["video.gif"])) as video:
        assert (video.format, video.is_animated) == ("GIF", True)
    with Image.open(BytesIO(pictures["summary.png"])) as summary:
        assert (summary.format, summary.width) == ("PNG", video.width)
    with pytest.raises(FileNotFoundError, match="no whole checkpoint"):
        pictures_of(CheckpointStore(str(tmp_path / "nothing")))


def test_about_a_hundred_rows_a_trial() -> None:
    laptop = settings(1, overrides=()).numbers
    assert steps_a_row(laptop, 150_000) == 2_048
    assert steps_a_row(laptop, 1_000_000) == 10_240
    assert steps_a_row(laptop, 50_000_000) == 20 * 2_048


def test_a_report_travels_as_text() -> None:
    report = Report({"env_steps": 3, "win_rate": 0.1}, [], ["a"], ["note"], True, False)
    assert Report.from_text(report.as_text()) == report
    assert json.loads(report.as_text())["row"]["env_steps"] == 3

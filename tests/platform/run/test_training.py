"""The training loop in this process: rows, resuming from a checkpoint, stopping early, and pictures."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from bonuslab.algorithms.impala.hyperparameters import LAPTOP
from bonuslab.envs.catalogue import name_of
from bonuslab.platform.pictures.trial_pictures import pictures_of
from bonuslab.platform.run import training as training_loop
from bonuslab.platform.run.checkpoints import CheckpointStore
from bonuslab.platform.run.folder import TrialFolder
from bonuslab.platform.run.record import TrialRecord
from bonuslab.platform.run.training import Row, Training, TrialReport, steps_per_row

TIMES = ("wall_seconds", "env_steps_per_second", "learnt_steps_per_second")
Run = Callable[..., list[TrialReport]]


@pytest.fixture(scope="module")
def run(tiny: ModuleType) -> Run:
    """`run(place, **settings)`: all reports of one attempt at eight batches.

    It is asked to stop after `stop_after` reports or at `stop_at` steps.
    """

    def attempt(
        place: Path, stop_after: float = math.inf, stop_at: float = math.inf, **settings: Any
    ) -> list[TrialReport]:
        reports: list[TrialReport] = []
        settings.setdefault("env", {"max_steps": 40})  # some episodes end
        config = tiny.config(8, evaluate_every_steps=None, **settings)
        training = Training(
            config,
            config.rllib(),
            CheckpointStore(str(place)),
            stopping=lambda: len(reports) >= stop_after or training.algorithm.env_steps >= stop_at,
        )
        try:
            while not reports or not reports[-1].done:
                training._polled_at = float("-inf")
                reports.append(TrialReport.from_text(training.next_report().as_text()))
        finally:
            training.close()
        return reports

    return attempt


def rows(reports: list[TrialReport]) -> list[Row]:
    found = [report.row for report in reports if report.row]
    return [{name: value for name, value in row.items() if name not in TIMES} for row in found]


@pytest.fixture(scope="module")
def whole(run: Run, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[TrialReport], Path]:
    """Eight batches without an interruption."""
    place = tmp_path_factory.mktemp("whole")
    return run(place), place


def test_rows_of_a_whole_trial(whole: tuple[list[TrialReport], Path]) -> None:
    reports, place = whole
    found = [report.row for report in reports if report.row]
    assert [row["env_steps"] for row in found] == [32 * number for number in range(1, 9)]
    assert all(earlier["wall_seconds"] < later["wall_seconds"] for earlier, later in itertools.pairwise(found))
    assert "evaluation/sampled/win_rate" in found[-1]
    assert "evaluation/sampled/win_rate" not in found[-2]
    assert {"win_rate", "bonus/mean", "policy_loss"} <= set(found[-1])
    assert reports[0].restored_rows == []
    assert reports[1].restored_rows is None
    assert (reports[-1].done, reports[-1].finished) == (True, True)
    assert [Path(kept).name for kept in reports[-1].checkpoints] == ["checkpoint_000000000256"]
    assert [path.name for path in place.iterdir()] == ["checkpoint_000000000256"]


def test_stopped_and_resumed_is_the_same_as_never_stopped(
    whole: tuple[list[TrialReport], Path], run: Run, tmp_path: Path
) -> None:
    first = run(tmp_path, stop_after=3)
    assert (first[-1].done, first[-1].finished) == (True, False)
    second = run(tmp_path)
    assert second[0].restored_rows == [report.row for report in first if report.row]
    assert rows(first) + rows(second) == rows(whole[0])
    times = [report.row["wall_seconds"] for report in first + second if report.row]
    assert times == sorted(times)


class Unseeded(gym.Env):
    """Noise that ignores the seed."""

    observation_space = gym.spaces.Box(0, 1, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, **_: Any) -> Any:
        return np.random.default_rng().random(2, np.float32), {}

    def step(self, action: Any) -> Any:
        return np.random.default_rng().random(2, np.float32), 0.0, False, False, {}


@pytest.mark.filterwarnings("ignore:.*ignores its seed")
@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("CartPole-v1", "at 96 steps; episodes in progress continue exactly"),
        (Unseeded, r"at 96 steps; 4 of 4 episodes begin anew, because .*:Unseeded did not repeat them"),
    ],
)
def test_a_resumed_trial_reports_whether_episodes_continue(run: Run, tmp_path: Path, task: Any, expected: str) -> None:
    settings = {"task": name_of(task), "bonus": "none", "env": {"max_episode_steps": 50}}
    assert {report.resumed for report in run(tmp_path / "checkpoints", stop_after=3, **settings)} == {""}
    first, *others = run(tmp_path / "checkpoints", **settings)
    assert re.fullmatch(expected, first.resumed)
    assert {report.resumed for report in others} == {""}
    record = TrialRecord(TrialFolder(tmp_path))
    record.add(first)
    record.write()
    assert TrialFolder(tmp_path).state().resumed == first.resumed


def test_a_row_cut_short_by_a_stop_does_not_shift_those_after_it(
    whole: tuple[list[TrialReport], Path], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training_loop, "ROWS", 4)  # two batches per row
    monkeypatch.setattr(training_loop, "STOP_POLL_SECONDS", 0.0)
    reports = run(tmp_path, stop_at=96) + run(tmp_path)
    assert [row["env_steps"] for row in rows(reports)] == [64, 96, 128, 192, 256]
    expected = [row for row in rows(whole[0]) if row["env_steps"] in (64, 96, 128, 192, 256)]
    assert [row["policy_loss"] for row in rows(reports)] == [row["policy_loss"] for row in expected]


def test_a_finished_trial_only_reports_its_rows_again(whole: tuple[list[TrialReport], Path], run: Run) -> None:
    again = run(whole[1])
    assert len(again) == 1
    assert again[0].restored_rows == [report.row for report in whole[0] if report.row]
    assert (again[0].row, again[0].finished) == (None, True)
    assert again[0].checkpoints == whole[0][-1].checkpoints


def test_a_damaged_checkpoint_costs_only_the_way_from_the_one_before(
    whole: tuple[list[TrialReport], Path], run: Run, tmp_path: Path
) -> None:
    run(tmp_path, stop_after=5, checkpoint_every_steps=64)
    kept = sorted(tmp_path.iterdir())
    assert [path.name[-3:] for path in kept] == ["128", "160"]
    next(kept[-1].rglob("*.pkl")).write_bytes(b"torn")
    reports = run(tmp_path, checkpoint_every_steps=64)
    assert len(reports[0].notes) == 1
    assert "does not match its checksum" in reports[0].notes[0]
    assert [row["env_steps"] for row in rows(reports)] == [160, 192, 224, 256]
    assert rows(reports) == rows(whole[0])[4:]


def test_a_checkpoint_that_cannot_be_written_stops_only_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: ModuleType
) -> None:
    def full(*arguments: Any, **options: Any) -> list[str]:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(CheckpointStore, "save", full)
    config = tiny.config(2, checkpoint_every_steps=tiny.BATCH)
    training = Training(config, config.rllib(), CheckpointStore(str(tmp_path)))
    try:
        report = training.next_report()
        assert report.row is not None
        assert "No space left" in report.notes[0]
        with pytest.raises(OSError, match="No space left"):
            training.next_report()
    finally:
        training.close()


def test_a_stop_saves_what_could_not_be_saved_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: ModuleType
) -> None:
    def full(*arguments: Any, **options: Any) -> list[str]:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(training_loop, "STOP_POLL_SECONDS", 0.0)
    stopping: list[bool] = []
    config = tiny.config(4, checkpoint_every_steps=tiny.BATCH)
    training = Training(config, config.rllib(), CheckpointStore(str(tmp_path)), lambda: bool(stopping))
    try:
        with monkeypatch.context() as disk:
            disk.setattr(CheckpointStore, "save", full)
            training.next_report()
        stopping.append(True)
        report = training.next_report()
        assert (report.row, report.done, len(report.checkpoints)) == (None, True, 1)
    finally:
        training.close()


def test_the_pictures_of_a_trial(whole: tuple[list[TrialReport], Path], tmp_path: Path) -> None:
    from PIL import Image

    pictures = pictures_of(CheckpointStore(str(whole[1])))
    with Image.open(BytesIO(pictures["video.gif"])) as video:
        assert (video.format, video.is_animated) == ("GIF", True)
    with Image.open(BytesIO(pictures["summary.png"])) as summary:
        assert (summary.format, summary.width) == ("PNG", video.width)
    with pytest.raises(FileNotFoundError, match="no intact checkpoint"):
        pictures_of(CheckpointStore(str(tmp_path / "nothing")))


@pytest.mark.parametrize(("total", "expected"), [(150_000, 2_048), (1_000_000, 10_240), (50_000_000, 20 * 2_048)])
def test_about_a_hundred_rows_per_trial(total: int, expected: int) -> None:
    assert steps_per_row(LAPTOP.values.changed(total_env_steps=total)) == expected


def test_a_report_travels_as_text() -> None:
    report = TrialReport({"env_steps": 3, "win_rate": 0.1}, [], ["a"], ["note"], True, False)
    assert TrialReport.from_text(report.as_text()) == report
    assert json.loads(report.as_text())["row"]["env_steps"] == 3

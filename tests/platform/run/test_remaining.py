"""Time left: the longest trial or the work shared over the slots, whichever is longer; the same everywhere."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from bonuslab.platform.board.grid_watch import GridWatch
from bonuslab.platform.grid.recorder import Recorder
from bonuslab.platform.grid.terminal import summary_line
from bonuslab.platform.run.folder import GridFolder
from bonuslab.platform.run.progress import duration
from bonuslab.platform.run.remaining import seconds_left
from bonuslab.platform.run.state import Status, TrialState

Trial = tuple[str, TrialState]


def trial(status: Status, steps: int, speed: float = math.inf, bonus: str = "none", total: int = 1000) -> Trial:
    return bonus, TrialState(status, steps, total, steps / speed)


def test_shares_the_work_over_the_slots() -> None:
    trials = [trial("running", 500, 10), trial("running", 500, 10), trial("waiting", 0), trial("waiting", 0)]
    assert seconds_left(trials) == (50 + 50 + 100 + 100) / 2
    assert seconds_left(trials, slots=3) == 100


def test_is_no_shorter_than_the_longest_trial() -> None:
    assert seconds_left([trial("running", 990, 10), trial("running", 1, 1)]) == 999
    assert seconds_left([trial("running", 990, 10), trial("waiting", 0, total=5000)], slots=9) == 500


def test_an_unstarted_trial_is_as_fast_as_its_bonus() -> None:
    trials = [trial("finished", 1000, 100), trial("finished", 1000, 5, "e3b"), trial("running", 999, 100)]
    assert seconds_left([*trials, trial("waiting", 0, bonus="e3b")]) == pytest.approx(200.01)
    assert seconds_left([*trials, trial("waiting", 0, bonus="e3b", total=0)]) == pytest.approx(200.01)
    assert seconds_left([*trials, trial("waiting", 0, bonus="rnd")]) == pytest.approx(1000 / (205 / 3) + 0.01)


def test_the_unknown_is_not_made_up() -> None:
    assert seconds_left([trial("running", 0)]) is None
    assert seconds_left([trial("finished", 1000, 10), trial("waiting", 0)]) is None
    assert seconds_left([trial("finished", 1000, 10), trial("waiting", 0)], slots=1) == 100
    assert seconds_left([trial("finished", 1000, 10), trial("failed", 10, 10)]) == 0


def test_board_and_terminal_say_the_same(write_sample_grid: Callable[..., GridFolder], tmp_path: Path) -> None:
    grid = write_sample_grid(tmp_path / "grid")
    for number, folder in enumerate(grid.trials()):
        state = folder.state()
        state.wall_seconds *= 1 + number % 5  # speeds that differ
        state.write(folder.state_file)
    bonuses = {about.id: about.labels["bonus"] for about in grid.description().trials}
    left = GridWatch(grid.path).changes()["summary"]["left"]
    assert summary_line(Recorder(grid).states(), bonuses, slots=1).endswith(f" {duration(left)} of wall time left")

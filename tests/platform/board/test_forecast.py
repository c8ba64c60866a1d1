"""Time left: the longest trial or the work shared out, whichever is more."""

from __future__ import annotations

import pytest

from bonuslab.platform.board.forecast import Pending, seconds_left


def trial(status: str, steps: int, speed: float | None = None, bonus: str = "none", total: int = 1000) -> Pending:
    return Pending(status, bonus, steps, total, speed)


def test_shares_the_work_among_those_that_run() -> None:
    trials = [trial("running", 500, 10.0), trial("running", 500, 10.0), trial("waiting", 0), trial("waiting", 0)]
    assert seconds_left(trials) == (50 + 50 + 100 + 100) / 2


def test_is_no_shorter_than_the_longest_trial() -> None:
    assert seconds_left([trial("running", 990, 10.0), trial("running", 0, 1.0)]) == 1000


def test_a_waiting_trial_is_as_fast_as_its_bonus() -> None:
    trials = [trial("finished", 1000, 100.0, "none"), trial("finished", 1000, 5.0, "e3b"), trial("running", 999, 100.0)]
    assert seconds_left([*trials, trial("waiting", 0, bonus="e3b")]) == pytest.approx(200.01)
    assert seconds_left([*trials, trial("waiting", 0, bonus="e3b", total=0)]) == pytest.approx(200.01)


def test_what_nobody_can_know_is_not_made_up() -> None:
    assert seconds_left([trial("running", 0)]) is None
    assert seconds_left([trial("finished", 1000, 10.0), trial("waiting", 0)]) is None
    assert seconds_left([trial("finished", 1000, 10.0), trial("failed", 10, 10.0)]) == 0

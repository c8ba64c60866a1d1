"""The progress line."""

from __future__ import annotations

import io

import pytest

from bonuslab.platform.run.progress import Progress, duration, progress_bar, progress_text
from bonuslab.platform.run.results import fewest_episodes, outcome_text

ROW = {
    "env_steps": 12_288,
    "env_steps_per_second": 3456.7,
    "episode_return": -0.25,
    "win_rate": 0.255,
    "bonus/mean": 0.0312,
}


class Terminal(io.StringIO):
    """Text output that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def test_line_has_every_part() -> None:
    line = progress_text(ROW, 300_000, 1000.0)
    assert line == "12,288/300,000 steps  3,457/s  return -0.25  won 26%  bonus 0.0312  4:48 left"


def test_unknown_values_are_dashes() -> None:
    line = progress_text({"env_steps": 10, "env_steps_per_second": 0.0}, 100, 0.0)
    assert line == "10/100 steps  0/s  return -  won -  bonus -  - left"


def test_the_first_episodes_are_not_shown_as_wins() -> None:
    row = ROW | {"win_rate": 1.0, "episodes": 40.0}
    assert outcome_text(row) == "return -0.25  won 100%"
    assert outcome_text(row, fewest=64) == "40 of the first 64 episodes ended"
    assert "40 of the first 64 episodes ended" in progress_text(row, 300_000, 1000.0, 64)
    assert fewest_episodes({"num_envs_per_env_runner": 64}) == 64
    assert fewest_episodes({"num_envs_per_env_runner": 8}) == 20


def test_metrics_of_the_environment_replace_wins() -> None:
    row = {"episode_return": 0.0, "win_rate": 0.0, "episode_length": 500.0, "episode_coverage": 0.344}
    assert outcome_text(row) == "return 0.00  coverage 0.34"
    place = "evaluation/sampled"
    evaluated = {"episode_return_mean": 100.0, "episode_return_std": 1.0, "win_rate": 0.0, "num_episodes": 4.0}
    rooms = {"rooms": 2.5, "rooms_ever": 3.0, "episode_len_mean": 4500.0}
    row |= {f"{place}/{name}": value for name, value in (evaluated | rooms).items()}
    assert outcome_text(row, place) == "return 100.00  rooms 2.50  rooms ever 3.00"


def test_an_environment_that_pays_without_wins_shows_none() -> None:
    assert outcome_text({"episode_return": 475.0, "win_rate": 0.0}) == "return 475.00"
    assert outcome_text({"episode_return": -0.3, "win_rate": 0.0}) == "return -0.30  won 0%"


def test_terminal_line_is_redrawn_in_place_and_never_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    terminal = Terminal()
    progress = Progress(300_000, terminal)
    progress.waiting("starting Ray")
    progress.update(ROW)
    progress.update({**ROW, "env_steps": 20_000})
    progress.note("a note")
    drawn = terminal.getvalue()
    assert drawn.count("\n") == 2
    lines = drawn.split("\n")[0].split("\r")[1:]
    assert len(lines) == 3
    assert all(len(line.removesuffix("\033[K")) <= 59 for line in lines)


def test_piped_output_gets_occasional_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([100.0, 101.0, 109.0, 111.0, 112.0])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    out = io.StringIO()
    progress = Progress(50_000, out)
    for steps in (10_000, 20_000, 30_000, 40_000, 50_000):
        progress.update({**ROW, "env_steps": steps})
    progress.end_line()
    assert [line.split("/")[0] for line in out.getvalue().splitlines()] == ["10,000", "40,000", "50,000"]
    assert "\r" not in out.getvalue()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0:00"), (59.6, "1:00"), (3600, "1:00:00"), (7384, "2:03:04"), (float("inf"), "-"), (None, "-")],
)
def test_duration(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


def test_bar_has_one_length_and_fills_up() -> None:
    assert {len(progress_bar(share)) for share in (-1, 0, 0.013, 0.5, 0.999, 1, 2)} == {21}
    assert progress_bar(0.5).count("█") == 10

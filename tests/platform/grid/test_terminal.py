"""What a grid shows in the terminal and in a pipe."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bonuslab.platform.grid.recorder import Recorder
from bonuslab.platform.grid.terminal import GridTable, summary_line, table_lines
from bonuslab.platform.pictures.live_lines import LiveLines
from bonuslab.platform.run.folder import GridFolder
from bonuslab.platform.run.state import TrialState
from bonuslab.platform.run.training import TrialReport


@pytest.fixture
def sample(write_sample_grid: Callable[..., GridFolder], tmp_path: Path) -> GridFolder:
    return write_sample_grid(tmp_path / "grid")


def plain(line: str) -> str:
    return re.sub(r"\033\[[0-9;]*m", "", line)


def test_a_row_for_every_bonus_and_task(sample: GridFolder) -> None:
    trials = sample.description().trials
    lines = [plain(line) for line in table_lines(trials, Recorder(sample), "win_rate", 110, 40)]
    assert len(lines) == 2 + 4 * 2
    assert lines[0].strip() == "win rate"
    assert re.split(r"  +", lines[1].strip()) == ["trials", "finished", "so far"]
    assert lines[0].index("win rate") == lines[1].index("finished")
    assert lines[4].startswith("e3b        MultiRoom-N4-S5")
    assert re.search(r"✓3 +0\.\d\d +-$", lines[3].rstrip()), "all have finished, none is running"
    assert re.search(r"▶1 ·1 ✗1 +- +\d\.\d\d$", lines[-1].rstrip()), "one is running, none has finished"
    assert all(len(line) <= 110 for line in lines)


def test_the_first_episodes_are_not_shown_as_wins(sample: GridFolder) -> None:
    recorder = Recorder(sample)
    (running,) = [trial for trial, state in recorder.states().items() if state.status == "running"]
    trials = [trial for trial in sample.description().trials if trial.id == running]
    row = {"env_steps": 100, "wall_seconds": 1.0, "win_rate": 1.0, "episode_return": 0.9, "episodes": 19.0}
    recorder[running].add(TrialReport(row))
    assert plain(table_lines(trials, recorder, "episode_return", 79, 40)[-1]).split()[-4:] == ["-"] * 4
    recorder[running].add(TrialReport({**row, "episodes": 20.0}))
    labels, titles, line = (plain(line) for line in table_lines(trials, recorder, "episode_return", 79, 40))
    assert re.split(r"  +", labels.strip()) == ["return", "win rate"]
    assert re.split(r"  +", titles.strip()) == ["trials", "finished", "so far", "finished", "so far"]
    assert labels.index("win rate") == titles.rindex("finished")
    assert line.split()[-4:] == ["-", "0.90", "-", "1.00"]


def test_a_small_terminal_gets_a_row_for_every_bonus(sample: GridFolder) -> None:
    trials = sample.description().trials
    lines = [plain(line) for line in table_lines(trials, Recorder(sample), "win_rate", 60, 6)]
    assert [line.split("  ")[0] for line in lines[2:]] == ["none", "rnd", "e3b", "e3b * rnd"]
    assert all(len(line) <= 60 for line in lines)


def test_bars_give_way_to_what_they_would_cut_off(sample: GridFolder) -> None:
    trials = sample.description().trials
    for columns, rows, done in ((110, 8, "█"), (85, 8, "100%"), (70, 4, "100%")):
        lines = [plain(line) for line in table_lines(trials, Recorder(sample), "episode_return", columns, 40)]
        assert lines[1].count("finished") == lines[1].count("so far") == 2
        assert len(lines) == 2 + rows
        assert done in lines[2]
        assert max(map(len, lines)) <= columns


def test_summary_counts_trials_and_time() -> None:
    states = {"a": TrialState("finished", 100, 100, 50.0), "b": TrialState("running", 50, 100, 50.0)}
    bonuses = {"a": "rnd", "b": "e3b"}
    assert summary_line(states, bonuses, 1) == "1 of 2 trials finished, 1 running, 75%, 0:50 of wall time left"
    new = {trial: TrialState("waiting", 0, 100) for trial in states}
    assert summary_line(new, bonuses, 1).endswith(", 0%"), "the time left is not known yet"


def test_a_pipe_gets_a_line_now_and_then_and_one_for_each_finished_trial(sample: GridFolder) -> None:
    recorder, file = Recorder(sample), io.StringIO()
    table = GridTable(sample.description().trials, recorder, "win_rate", 2, file)
    table.refresh()
    table.refresh()
    (running,) = [trial for trial, state in recorder.states().items() if state.status == "running"]
    row = {"env_steps": 100_000, "wall_seconds": 50.0, "win_rate": 0.875}
    recorder[running].add(TrialReport(row, done=True, finished=True))
    table.draw()
    lines = file.getvalue().splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("21 of 24 trials finished, 1 running, 1 failed, ")
    assert lines[1] == f"{running} finished in 0:50 of training, win_rate 0.88"
    assert lines[2].startswith("22 of 24")


def test_notes_stay_above_the_lines_that_are_redrawn() -> None:
    file = io.StringIO()
    live = LiveLines(file)
    live.show(["one", "two"])
    live.note("a word")
    live.show(["three"])
    assert screen(file.getvalue()) == ["a word", "three"]


def screen(text: str) -> list[str]:
    """What a terminal would show."""
    lines, row, column = [""], 0, 0
    for part in re.findall(r"\033\[\d*[AKJ]|\r|\n|[^\033\r\n]+", text):
        if part[-1] == "A" and part[0] == "\033":
            row -= int(part[2:-1])
        elif part in ("\033[K", "\033[J"):
            lines[row] = lines[row][:column]
            lines = lines[: row + 1] if part[-1] == "J" else lines
        elif part == "\n":
            row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
        elif part == "\r":
            column = 0
        else:
            lines[row] = lines[row][:column] + part + lines[row][column + len(part) :]
            column += len(part)
    return [line for line in lines if line]

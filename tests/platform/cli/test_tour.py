"""`bonuslab tour`."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace

import pytest

from bonuslab.envs.minihack import task
from bonuslab.platform.cli import tour
from bonuslab.platform.cli.main import main
from bonuslab.platform.cli.tour import NUM_ENVS, visit


def test_every_task_of_the_suite_gets_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tour", "--seconds", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["task", "steps/s", "steps", "episodes", "mean", "return", "wins"]
    rows = [line.split() for line in lines[2:18]]
    assert rows[0][0] == "MultiRoom-N4-Locked"
    assert rows[-1][0] == "Freeze-Random-Restricted"
    steps = [int(row[2].replace(",", "")) for row in rows]
    assert all(count >= NUM_ENVS for count in steps)
    total = lines[-1].split()
    assert total[0] == "all"
    assert int(total[2].replace(",", "")) == sum(steps)


def test_a_visit_counts_what_it_did(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count()
    monkeypatch.setattr(tour, "time", SimpleNamespace(perf_counter=lambda: float(next(ticks))))
    result = visit(task("MultiRoom-N6-Lava"), end=400.0, share=1, seed=0)
    assert result.steps == 400 * NUM_ENVS
    assert result.seconds == 401.0
    assert len(result.returns) > 0  # a random walk among lava does not last
    assert all(value <= 1 for value in result.returns)
    assert sum(value > 0.5 for value in result.returns) == result.wins


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--seconds", "0"], "0"),
        (["--seconds", "-1"], "-1"),
        (["--seconds", "inf"], "inf"),
        (["--suite", "papre16"], "paper16"),
        (["--seed", "-1"], "-1"),
    ],
)
def test_bad_input(words: list[str], named: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tour", *words]) == 2
    assert named in capsys.readouterr().err

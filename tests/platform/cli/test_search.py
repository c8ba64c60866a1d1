"""`bonuslab search`: what is refused before Ray starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from bonuslab.platform.cli.main import main
from bonuslab.platform.cli.search import search_of
from bonuslab.platform.grid.search_space import Search, Space

ROOM = ["--task", "MultiRoom-N2-S4"]
E3B = [*ROOM, "--bonus", "e3b"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--bonus", "e3b"], "search needs a --task"),
        (ROOM, "search needs a --bonus"),
        ([*E3B, "--bonus", "none"], "bonus none has nothing to search; leave it out"),
        ([*E3B, "--bonus", "e3"], "unknown bonus 'e3'"),
        ([*E3B, "--bonus", "e3b"], "two trials have the name"),
        ([*E3B, "--samples", "0"], "invalid --samples 0"),
        ([*E3B, "--steps", "0"], "total_env_steps"),
        ([*E3B, "--search-seeds", "3-5", "--study-seeds", "0-4"], "search seeds 3, 4 are seeds of the study"),
        ([*E3B, "--search-seeds", "x"], "invalid --seeds 'x'"),
        ([*E3B, "--scheduler", "hyperband"], "unknown scheduler 'hyperband'"),
        ([*E3B, "--searcher", "best"], "unknown searcher 'best'"),
        ([*E3B, "--normalise", "mean"], "'mean'"),
        ([*E3B, "--coefficient", "1", "0.1"], "invalid range of coefficient, 1 to 0.1"),
        ([*E3B, "--metric", "winrate"], "'winrate' is not a metric of training"),
    ],
)
def test_what_cannot_be_searched_is_refused_at_once(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["search", *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert list(tmp_path.iterdir()) == []


def test_options_become_a_search() -> None:
    given = {"samples": 3, "search_seeds": ["7-9"], "coefficient": [0.1, 1.0], "normalise": ["none"], "steps": 500}
    found = search_of(given)
    assert found == Search((7, 8, 9), 3, 500, Space(("none",), (0.1, 1.0)))
    assert search_of({}) == Search()

"""`bl.search` from the first check to the winners, on the Ray of this process."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

import bonuslab as bl
from bonuslab.platform.grid.search_results import Winners

TASK = "MultiRoom-N2-S4"


@pytest.mark.cluster
@pytest.mark.usefixtures("cluster")
def test_a_search_is_run_read_and_repeated_for_nothing(
    tmp_path: Path, tiny: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    out = tmp_path / "search"

    def search() -> bl.SearchResult:
        return bl.search(TASK, [bl.E3B()], samples=2, steps=64, seeds=(101,), study_seeds=(0, 1), out=out, **tiny.SMALL)

    found = search()
    assert "cost      128 steps" in capsys.readouterr().out
    (winner,) = found.winners.winners
    assert Winners.read(out) == found.winners
    assert found.settings(TASK, "e3b") == {"bonus": "e3b", **winner.settings}
    assert found.samples[["seed", "ended", "env_steps"]].values.tolist() == [[101, "finished", 64]] * 2
    assert (out / "report" / "figures" / "sensitivity.png").is_file()
    before = [path.stat().st_mtime_ns for path in sorted(out.glob("trials/*/progress.csv"))]
    assert search().winners.winners == found.winners.winners
    assert before == [path.stat().st_mtime_ns for path in sorted(out.glob("trials/*/progress.csv"))]
    with pytest.raises(bl.InvalidInput, match="has no winner for rnd on MultiRoom-N2-S4"):
        found.settings(TASK, "rnd")


def test_seeds_of_the_study_are_refused(tmp_path: Path) -> None:
    with pytest.raises(bl.InvalidInput, match="search seeds 1 are seeds of the study"):
        bl.search(TASK, ["e3b"], seeds=(1, 101), study_seeds=range(5), out=tmp_path / "search")
    assert not (tmp_path / "search").exists()

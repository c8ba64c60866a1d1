"""`bl.grid` on the Ray of this process, with a bonus of this process."""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType

import pytest
import ray
import torch

import bonuslab as bl

pytestmark = pytest.mark.cluster


@pytest.mark.usefixtures("cluster", "fresh_registries")
def test_a_grid_is_trained_and_resumed(
    tmp_path: Path, tiny: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    driver = os.getpid()

    @bl.bonus("elsewhere", scope="global")
    def elsewhere(step: bl.Step) -> torch.Tensor:
        return torch.full(step.action.shape, float(os.getpid() != driver))

    def train(steps: int) -> bl.Grid:
        settings = {"evaluate_every_steps": 0, "concurrent": 1, **tiny.SMALL}
        return bl.grid("MultiRoom-N2-S4", [None, "elsewhere"], seeds=(0,), steps=steps, out=tmp_path / "g", **settings)

    grid = train(64)
    assert ray.is_initialized(), "Ray of this process is left running"
    assert [run.state.status for run in grid] == ["finished"] * 2
    assert grid.runs[1].metrics["term/elsewhere/raw_mean"].tolist() == [1.0, 1.0]
    assert (grid.path / "report" / "index.html").is_file()
    capsys.readouterr()
    assert [run.state.attempts for run in train(64)] == [1, 1]
    assert "2 of 2 trials finished" in capsys.readouterr().out
    with pytest.raises(bl.InvalidInput, match="total_env_steps: 64 → 96"):
        train(96)


def test_serial_is_decided_by_the_cpus_of_a_trial(tmp_path: Path) -> None:
    with pytest.raises(bl.InvalidInput, match="serial: in a grid cpus_per_trial decides, and 2 contradicts it"):
        bl.grid("MultiRoom-N2-S4", serial=True, cpus_per_trial=2, out=tmp_path / "grid")


def test_one_bonus_needs_no_list_but_seeds_do(tmp_path: Path) -> None:
    with pytest.raises(bl.InvalidInput, match="unknown bonus 'e3c'"):
        bl.grid("MultiRoom-N2-S4", "e3c", contexts="inf", out=tmp_path / "grid")
    with pytest.raises(bl.InvalidInput, match=r"seeds=3 is one number; pass a list, such as seeds=\[0, 1, 2\]"):
        bl.grid("MultiRoom-N2-S4", seeds=3, out=tmp_path / "grid")  # type: ignore[arg-type]
    with pytest.raises(bl.InvalidInput, match="a grid takes bonuses, a list, instead of bonus"):
        bl.grid("MultiRoom-N2-S4", bonus="e3b", out=tmp_path / "grid")
